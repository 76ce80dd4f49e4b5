package promquery

// WithSymbols is exported to tests.
var WithSymbols = withSymbols

// NamesOf are the regular expressions that a source is asked with for pods of some names, "" for those of all pods.
func NamesOf(raw bool, list []string) []string { return namesOf(list, raw) }

// Fallbacks are the inputs and the fallback metrics with a text about what is lost.
func Fallbacks() (list [][2]string) {
	for _, s := range fallbacks {
		list = append(list, [2]string{s.input, s.metric})
	}
	return list
}
