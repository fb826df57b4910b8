package document

import "strings"

// stops say how a thing is said, not what it is about. They are indexed, and
// left out of a question that has other words.
var stops = wordSet(`a about an and any are aren as at be because been being but by can cannot could couldn d did didn do
	does doesn doing don each either else etc for from had hadn has hasn have haven having he her here hers herself him
	himself his how however i if in into is isn it its itself just ll m me my myself no nor not o of off on onto or our
	ours ourselves re s shall she should shouldn so some such t than that the their theirs them themselves then there
	therefore these they this those though thus to too until upon us ve very was wasn we were weren what whatever when
	where whether which while who whom whose why will with within would wouldn yes you your yours yourself
	der das dem ein eine einer eines einem einen und oder ist sind waren wird werden nicht auch auf aus bei bis durch fur
	mit nach ohne zu zum zur ich du sie es wir ihr wie wo wann warum
	le la les du et ou mais est sont dans par avec ce cette ces qui que quoi il elle nous vous ils elles
	el los las uno una pero en por este esta estos estas cual como donde cuando`)

// fillers stand in key terms neither first nor last, beside the stops.
var fillers = wordSet(`six seven eight nine hundred thousand million billion second third twice daily able above across actually after again against ago all almost alone along already also although
	always am among another anyone anything apart around ask asked away back became become becomes before began behind
	below best better between both bring brought came case cases certain come comes compare course day days define
	describe difference different discuss done down due during early easy enough even ever every everyone everything
	example examples explain far few find first five following found four full further gave general generally get gets
	getting give given gives go goes going gone good got great hand happen happened hard help hence high important
	indeed instead interesting keep kept kind kinds know known large last late later least less let like likely list
	little long look made main make makes making many may maybe mean means might more most mostly much must near nearly
	need needs neither never new next none nothing now number often ok okay old once one ones only other others out
	outline over own part particular people perhaps place please point possible probably put question quite rather
	really reason reasons regarding related right said same saw say says see seem seems seen several short show shown
	shows side similar simply since small something sometimes soon sort sorts still summarise summarize take taken takes
	tell ten thank thanks thing things think three through throughout time times together told took toward towards
	true turn two type types under unless unlike up use used useful uses using usually various via want wants way ways
	week weeks well went whole without word words work works year years yet`)

// joints are letters of Chinese and Japanese that join words and say nothing of
// a subject.
const joints = "的是了在和與与或及也就而被把這这那們们我你他她它很"

func wordSet(s string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(s) {
		set[w] = true
	}
	return set
}
