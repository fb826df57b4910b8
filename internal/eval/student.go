package eval

import "math"

// normal returns the share of a normal distribution below x.
func normal(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// student returns the p-quantile of Student's t with df degrees of freedom, for p
// from 0.5 to 1.
func student(p, df float64) float64 {
	low, high := 0.0, 1.0
	for tail(high, df) > 1-p && high < 1e12 {
		low, high = high, 2*high
	}
	for range 80 {
		if mid := (low + high) / 2; tail(mid, df) > 1-p {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// tail returns the share of Student's t above t, which is not negative.
func tail(t, df float64) float64 { return beta(df/(df+t*t), df/2, 0.5) / 2 }

// beta returns the regularised incomplete beta function, by its continued fraction
// (Numerical Recipes, 6.4).
func beta(x, a, b float64) float64 {
	switch {
	case x <= 0:
		return 0
	case x >= 1:
		return 1
	case x > (a+1)/(a+b+2):
		return 1 - beta(1-x, b, a)
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) * fraction(x, a, b) / a
}

// fraction evaluates the continued fraction by Lentz's method.
func fraction(x, a, b float64) float64 {
	const tiny = 1e-300
	guard := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/guard(1-(a+b)*x/(a+1))
	h := d
	for i := 1; i <= 500; i++ {
		m := float64(i)
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		d, c = 1/guard(1+even*d), guard(1+even/c)
		h *= d * c
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d, c = 1/guard(1+odd*d), guard(1+odd/c)
		step := d * c
		if h *= step; math.Abs(step-1) < 1e-14 {
			break
		}
	}
	return h
}
