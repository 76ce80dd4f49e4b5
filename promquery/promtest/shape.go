package promtest

// Shapes are the names of the labels that each metric of the recording has, and whether any of its series has a value
// there.
func (r Recording) Shapes() map[string]map[string]bool {
	out := map[string]map[string]bool{}
	for _, s := range r.Series {
		metric := ""
		for i := 0; i+1 < len(s.Labels); i += 2 {
			if s.Labels[i] == "__name__" {
				metric = s.Labels[i+1]
			}
		}
		if out[metric] == nil {
			out[metric] = map[string]bool{}
		}
		for i := 0; i+1 < len(s.Labels); i += 2 {
			if name, value := s.Labels[i], s.Labels[i+1]; name != "__name__" {
				out[metric][name] = out[metric][name] || value != ""
			}
		}
	}
	return out
}
