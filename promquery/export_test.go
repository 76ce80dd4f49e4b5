package promquery

// WithSymbols is exported to tests.
var WithSymbols = withSymbols

// StandIns are the inputs and the stand-in metrics with a text about what is lost.
func StandIns() (list [][2]string) {
	for _, s := range standIns {
		list = append(list, [2]string{s.input, s.metric})
	}
	return list
}
