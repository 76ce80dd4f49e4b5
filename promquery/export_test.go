package promquery

// CgroupUID is exported to tests.
var CgroupUID = uids{}.of

// IsReadWhole reports whether every sample of an alternative in the window is read where nothing is missing.
func (in *Input) IsReadWhole(rank int) bool {
	switch in.stageOf(rank) {
	case always, levels, counters, moving:
		return true
	default:
		return false
	}
}
