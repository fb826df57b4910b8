package claim
// markAt
func markAt(s string) int { return 0 }
