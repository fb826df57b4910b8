package calibration

import "math"

// A weights holds the weights of a map: the contribution of each column to the log odds.
type weights struct {
	w    vector
	edge float64 // limit: no forecast is nearer to 0 or 1
}

// The columns of a row.
const (
	intercept = iota
	slopeHigh // ln of the claim
	slopeLow  // -ln of 1 minus the claim
	firstOfBasis
	columns = firstOfBasis + 4
)

type vector [columns]float64

// maxClaim is the largest distinct claim: 1 counts as 0.99, and 0 as 0.01.
const maxClaim = 0.99

func newRow(c Case) vector {
	p := min(max(c.Claimed, 1-maxClaim), maxClaim)
	b := c.Basis
	return vector{1, math.Log(p), -math.Log(1 - p), b.Agreement, b.Support, b.Contradiction, b.Stability}
}

func (w weights) forecastCase(c Case) float64 {
	row := newRow(c)
	return min(max(logistic(row.dot(w.w)), w.edge), 1-w.edge)
}

// A dataset holds the rows of the cases and their outcomes.
type dataset struct {
	rows     []vector
	outcomes []float64
}

func newDataset(cases []Case) dataset {
	d := dataset{make([]vector, len(cases)), make([]float64, len(cases))}
	for i, c := range cases {
		d.rows[i], d.outcomes[i] = newRow(c), c.Outcome
	}
	return d
}

// splitFold splits off one of n stratified parts, see compare.
func (d dataset) splitFold(part, parts int) (learned, held dataset) {
	for i, row := range d.rows {
		to := &learned
		if i%parts == part {
			to = &held
		}
		to.rows, to.outcomes = append(to.rows, row), append(to.outcomes, d.outcomes[i])
	}
	return learned, held
}

func (d dataset) columnMeans() (m vector) {
	for _, row := range d.rows {
		for j := firstOfBasis; j < columns; j++ {
			m[j] += row[j] / float64(len(d.rows))
		}
	}
	return m
}

func (d dataset) subtractMeans(means vector) dataset {
	rows := make([]vector, len(d.rows))
	for i, row := range d.rows {
		rows[i] = row.addScaled(means, -1)
	}
	return dataset{rows, d.outcomes}
}

// logLoss returns the log loss in nats of the forecasts by w.
func (d dataset) logLoss(w vector) (sum float64) {
	for i, row := range d.rows {
		sum += crossEntropy(row.dot(w), d.outcomes[i])
	}
	return sum
}

// crossEntropy returns the loss of an outcome for log odds z.
func crossEntropy(z, outcome float64) float64 {
	return math.Max(z, 0) - z*outcome + math.Log1p(math.Exp(-math.Abs(z)))
}

// A penalty holds, for each column, the precision of a normal prior around the expected weight.
type penalty vector

// identityWeights returns the weights of the identity map.
func identityWeights() vector { return vector{slopeHigh: 1, slopeLow: 1} }

// foldCount is the number of folds that select the penalties.
const foldCount = 5

// learnWeights returns the weights for sorted cases. It averages over penalties, so that one case changes
// little.
func learnWeights(cases []Case) weights {
	d := newDataset(cases)
	grid := penaltyGrid()
	shares := d.relativeLikelihoods(grid)
	var sum vector
	var all float64
	w := identityWeights()
	for i, p := range grid {
		if shares[i] > negligible {
			w = d.fitWeights(p, w)
			sum = sum.addScaled(w, shares[i])
			all += shares[i]
		}
	}
	return weights{vector{}.addScaled(sum, 1/all), 1 / float64(len(cases)+2)}
}

const (
	excluded       = 1e6  // a penalty that excludes a column
	simplicityOdds = 30   // prior odds of maps without the basis
	negligible     = 1e-3 // ignored share of a penalty
)

func penaltyGrid() (grid []penalty) {
	for _, slope := range []float64{0.2, 2, 20} {
		for _, basis := range []float64{0.2, 1, 5, 25, 125, excluded} {
			p := penalty{intercept: 0.25, slopeHigh: slope, slopeLow: slope}
			for j := firstOfBasis; j < columns; j++ {
				p[j] = basis
			}
			grid = append(grid, p)
		}
	}
	return grid
}

// relativeLikelihoods returns the relative likelihood of held-out cases for each penalty; the maximum is
// 1.
func (d dataset) relativeLikelihoods(grid []penalty) []float64 {
	losses := make([]float64, len(grid))
	for part := range foldCount {
		learned, held := d.splitFold(part, foldCount)
		w := identityWeights()
		for i, p := range grid {
			w = learned.fitWeights(p, w)
			losses[i] += held.logLoss(w)
		}
	}
	least := math.Inf(1)
	for i, p := range grid {
		if p[firstOfBasis] == excluded {
			losses[i] -= math.Log(simplicityOdds)
		}
		least = math.Min(least, losses[i])
	}
	for i, l := range losses {
		losses[i] = math.Exp(least - l)
	}
	return losses
}

// fitWeights returns the weights of least cost with non-negative slopes. The cost is strictly convex. If
// the unconstrained slopes are valid, they are optimal; otherwise fit tries the sets of slopes at
// zero.
func (d dataset) fitWeights(p penalty, near vector) vector {
	means := d.columnMeans()
	near[intercept] += near.dot(means)
	d = d.subtractMeans(means)
	best, least := vector{}, math.Inf(1)
	for _, zero := range [][]int{{}, {slopeHigh}, {slopeLow}, {slopeHigh, slopeLow}} {
		w, cost := d.minimize(p, near, zero)
		if w[slopeHigh] >= 0 && w[slopeLow] >= 0 && cost < least {
			best, least = w, cost
		}
		if len(zero) == 0 && !math.IsInf(least, 1) {
			break
		}
	}
	best[intercept] -= best.dot(means)
	return best
}

// Termination of Newton's method.
const (
	maxSteps  = 50
	maxHalves = 30
	minGain   = 1e-8 // expected gain of a step in nats
)

// minimize runs Newton's method from near with the weights in zero held at zero. It returns the
// weights and the cost.
func (d dataset) minimize(p penalty, near vector, zero []int) (vector, float64) {
	w := near
	for _, j := range zero {
		w[j] = 0
	}
	cost, slope, curve := d.penalizedLoss(p, w)
	for range maxSteps {
		for _, j := range zero {
			curve.fixColumn(j)
			slope[j] = 0
		}
		step := curve.solve(slope)
		if slope.dot(step) < minGain {
			break
		}
		next := w.addScaled(step, -1)
		lower, s, c := d.penalizedLoss(p, next)
		for half := 0; !(lower <= cost) && half < maxHalves; half++ {
			step = vector{}.addScaled(step, 0.5)
			next = w.addScaled(step, -1)
			lower, s, c = d.penalizedLoss(p, next)
		}
		if !(lower < cost) {
			break
		}
		w, cost, slope, curve = next, lower, s, c
	}
	return w, cost
}

// penalizedLoss returns the penalised loss with its first and second derivatives.
func (d dataset) penalizedLoss(p penalty, w vector) (sum float64, slope vector, curve matrix) {
	for i, x := range d.rows {
		z, outcome := x.dot(w), d.outcomes[i]
		sum += crossEntropy(z, outcome)
		f := logistic(z)
		for j := range x {
			slope[j] += (f - outcome) * x[j]
			by := f * (1 - f) * x[j]
			for k := range j + 1 {
				curve[j][k] += by * x[k]
			}
		}
	}
	for j, mu := range identityWeights() {
		off := w[j] - mu
		sum += p[j] * off * off / 2
		slope[j] += p[j] * off
		curve[j][j] += p[j]
	}
	return sum, slope, curve
}

func (v vector) dot(o vector) (sum float64) {
	for j := range v {
		sum += v[j] * o[j]
	}
	return sum
}

// addScaled returns v + by*o.
func (v vector) addScaled(o vector, by float64) vector {
	for j := range v {
		v[j] += by * o[j]
	}
	return v
}

// A matrix is symmetric and positive definite. Only the lower triangle counts.
type matrix [columns]vector

// fixColumn replaces row and column j by those of the identity.
func (m *matrix) fixColumn(j int) {
	for k := range columns {
		m[j][k], m[k][j] = 0, 0
	}
	m[j][j] = 1
}

// solve returns x with m x = b, by Cholesky decomposition.
func (m matrix) solve(b vector) vector {
	var l matrix // m = l l'
	for j := range columns {
		for k := range j + 1 {
			sum := m[j][k]
			for i := range k {
				sum -= l[j][i] * l[k][i]
			}
			if j == k {
				l[j][j] = math.Sqrt(math.Max(sum, 1e-12))
			} else {
				l[j][k] = sum / l[k][k]
			}
		}
	}
	for j := range columns {
		for i := range j {
			b[j] -= l[j][i] * b[i]
		}
		b[j] /= l[j][j]
	}
	for j := columns - 1; j >= 0; j-- {
		for i := j + 1; i < columns; i++ {
			b[j] -= l[i][j] * b[i]
		}
		b[j] /= l[j][j]
	}
	return b
}

func logistic(z float64) float64 { return 1 / (1 + math.Exp(-z)) }
