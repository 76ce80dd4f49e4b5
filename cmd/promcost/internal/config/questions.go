package config

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Question is a saved question.
type Question struct {
	Name  string
	Query string // parameters of /model/allocation, as in a URL
}

// maxQuestions is how many questions a config may have.
const maxQuestions = 100

// questionName is a name that Kubernetes takes for objects.
var questionName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$`)

// questionKeys are the keys of an element of questions.
func questionKeys() []key[Question] {
	return []key[Question]{
		{"name", "text", "Name of the question: small letters, digits, - and .", func(q *Question, n *yaml.Node) (err error) {
			if q.Name, err = textOf(n, "name"); err == nil && !questionName.MatchString(q.Name) {
				err = atLine(n, "name is %q: give small letters, digits, - and ., such as month-by-team", q.Name)
			}
			return err
		}},
		{"query", "parameters", "Parameters of /model/allocation as in a URL, such as window=month&aggregate=label:team.", func(q *Question, n *yaml.Node) (err error) {
			if q.Query, err = textOf(n, "query"); err != nil {
				return err
			}
			values, err := url.ParseQuery(q.Query)
			switch {
			case err != nil:
				return atLine(n, "query is %q: %w: give parameters as in a URL, such as window=month&aggregate=label:team", q.Query, err)
			case strings.HasPrefix(q.Query, "?") || strings.HasPrefix(q.Query, "/"):
				return atLine(n, "query is %q: give only the parameters, without the path and the question mark", q.Query)
			case values.Get("window") == "":
				return atLine(n, "query is %q, which has no window: begin it with one, such as window=month&", q.Query)
			}
			return nil
		}},
	}
}

// readQuestions reads the saved questions. Each needs a name of its own and a query.
func (f *File) readQuestions(n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return atLine(n, "questions is no list: begin each question with \"- name: \"")
	}
	if len(n.Content) > maxQuestions {
		return atLine(n, "questions has %d elements, at most %d are allowed: leave some out", len(n.Content), maxQuestions)
	}
	for i, item := range n.Content {
		item, what := follow(item), fmt.Sprintf("questions[%d]", i)
		var q Question
		if err := readKeys(&q, what, item, questionKeys()); err != nil {
			return err
		}
		if q.Name == "" || q.Query == "" {
			return atLine(item, "%s lacks a key: give name and query", what)
		}
		if slices.ContainsFunc(f.Questions, func(o Question) bool { return o.Name == q.Name }) {
			return atLine(item, "%s has the name %q of another: give each its own", what, q.Name)
		}
		f.Questions = append(f.Questions, q)
	}
	return nil
}
