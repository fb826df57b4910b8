package session

// unit returns x in 0..1; 0 if it is no number.
func unit(x float64) float64 {
	if !(x > 0) {
		return 0
	}
	return min(x, 1)
}
