package promquery

// WithSymbols is exported to tests.
var WithSymbols = withSymbols

// NamesOf are the regular expressions that a source is asked with for pods of some names, "" for those of all pods.
func NamesOf(raw bool, list []string) []string { return namesOf(list, raw) }

// StandIns are the inputs and the stand-in metrics with a text about what is lost.
func StandIns() (list [][2]string) {
	for _, s := range standIns {
		list = append(list, [2]string{s.input, s.metric})
	}
	return list
}
