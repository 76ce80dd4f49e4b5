package notices

import "strings"

// Topic is the subject of a warning that concerns only some queries. Warnings of a Set without a topic concern all.
type Topic string

// The topics of warnings. Clusters may well export none of them.
const (
	AboutLabels      Topic = "labels" // of pods and namespaces
	AboutAnnotations Topic = "annotations"
	AboutServices    Topic = "services"
	AboutNodeLabels  Topic = "labels of nodes"
)

// Warning is text as a warning about t, or as it is if t is "".
func (t Topic) Warning(text string) string {
	if t == "" {
		return text
	}
	return "about " + string(t) + ": " + text
}

// TopicOf is the topic of a warning, "" where it concerns everybody.
func TopicOf(warning string) Topic {
	for _, t := range [...]Topic{AboutLabels, AboutAnnotations, AboutServices, AboutNodeLabels} {
		if strings.HasPrefix(warning, t.Warning("")) {
			return t
		}
	}
	return ""
}
