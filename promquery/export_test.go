package promquery

// CgroupUID is exported to tests.
var CgroupUID = uids{}.parse

// IsReadWhole reports whether every sample of an alternative in the window is read where nothing is missing.
func (in *Input) IsReadWhole(rank int) bool {
	switch in.stageOf(rank) {
	case always, levels, counters, moving:
		return true
	default:
		return false
	}
}

// StandIns are the inputs and the metrics of which it is said what it costs that they stand in.
func StandIns() (list [][2]string) {
	for _, s := range standIns {
		list = append(list, [2]string{s.input, s.metric})
	}
	return list
}
