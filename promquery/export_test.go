package promquery

// CgroupUID is exported to tests.
var CgroupUID = uids{}.parse

// IsReadWhole reports whether every sample of an alternative in the window is read if nothing is missing.
func (in *Input) IsReadWhole(rank int) bool {
	switch in.stageOf(rank) {
	case always, levels, counters, moving:
		return true
	default:
		return false
	}
}

// StandIns are the inputs and the stand-in metrics with a text about what is lost.
func StandIns() (list [][2]string) {
	for _, s := range standIns {
		list = append(list, [2]string{s.input, s.metric})
	}
	return list
}
