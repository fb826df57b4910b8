package subconscious

import (
	"encoding/json"
	"maps"
	"time"

	"ponder"
)

// A keptView is a view as it is kept.
type keptView struct {
	Knows   knowledge      `json:"knows"`
	Waiting map[string]int `json:"waiting,omitempty"`
	Open    []ponder.RunID `json:"open,omitempty"`
	Last    time.Time      `json:"last,omitzero"`
	News    time.Time      `json:"news,omitzero"`
}

// Keep returns what a view need know to go on being asked for its state, what is due and
// its pace: not what has been. It is JSON, for a checkpoint.
func (v View) Keep() ([]byte, error) {
	k := keptView{Knows: v.knows, Waiting: v.Waiting, Last: v.Last, News: v.News}
	for run := range v.open {
		k.Open = append(k.Open, run)
	}
	return json.Marshal(k)
}

// KeptView undoes [View.Keep], for these roles: see [NewView].
func KeptView(js []byte, roles ...Role) (View, error) {
	var k keptView
	if err := json.Unmarshal(js, &k); err != nil {
		return View{}, err
	}
	v := NewView(roles...)
	v.knows, v.State, v.Last, v.News = k.Knows, k.Knows.State, k.Last, k.News
	maps.Copy(v.Waiting, k.Waiting)
	for _, run := range k.Open {
		v.open[run] = true
	}
	v.Open = len(v.open) > 0
	return v, nil
}
