package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/promcost/promcost/allocation/visible"
)

// Most of a report that messages have: chats refuse long ones.
const (
	mostLines = 10
	mostText  = 2900 // of a section, of which Slack takes 3,000 characters
)

// object is an object of JSON.
type object = map[string]any

// lines are the first rows of a table, as lines of a message.
func (t *table) lines() string {
	rows := t.Rows[:min(mostLines, len(t.Rows))]
	var list []string
	if t.Note != "" {
		list = append(list, t.Note)
	}
	for _, row := range rows {
		cells := []string{row[0]}
		for i, cell := range row[1:] {
			if cell == "" {
				continue
			}
			if name := t.Columns[i+1].Name; t.Columns[i+1].Number && name != "" {
				cell = strings.ToLower(name) + " " + cell
			}
			cells = append(cells, cell)
		}
		list = append(list, "• "+strings.Join(cells, " · "))
	}
	if more := len(t.Rows) - len(rows); more > 0 {
		list = append(list, fmt.Sprintf("… and %d more", more))
	}
	text := strings.Join(list, "\n")
	if runes := []rune(text); len(runes) > mostText {
		text = string(runes[:mostText]) + "…"
	}
	return text
}

// Slack is the report as a message of Slack's incoming webhooks, which Mattermost, Rocket.Chat and others take too.
func (r *Report) Slack() any {
	escape := func(text string) string {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(visible.Lines(text))
	}
	section := func(text string) object {
		return object{"type": "section", "text": object{"type": "mrkdwn", "text": text}}
	}
	title := r.Title + ", " + r.Window.text()
	blocks := []any{
		object{"type": "header", "text": object{"type": "plain_text", "text": cut(visible.Text(title), 150)}},
		section(escape(r.headline())),
	}
	for _, t := range r.tables() {
		blocks = append(blocks, section("*"+escape(t.Heading)+"*\n"+escape(t.lines())))
	}
	if r.URL != "" {
		blocks = append(blocks, section("<"+escape(strings.NewReplacer("|", "%7C", ">", "%3E", "<", "%3C").Replace(r.URL))+"|Show it in promcost>"))
	}
	return object{"text": escape(title + ": " + r.headline()), "blocks": blocks}
}

// Teams is the report as a message of webhooks of Microsoft Teams' workflows: an adaptive card.
func (r *Report) Teams() any {
	text := func(text string, more object) object {
		block := object{"type": "TextBlock", "wrap": true, "text": cardText.Replace(visible.Lines(text))}
		maps.Copy(block, more)
		return block
	}
	body := []any{text(r.Title+", "+r.Window.text(), object{"size": "Large", "weight": "Bolder"}), text(r.headline(), nil)}
	for _, t := range r.tables() {
		body = append(body, text(t.Heading, object{"weight": "Bolder", "separator": true}))
		for line := range strings.SplitSeq(t.lines(), "\n") {
			body = append(body, text(line, object{"spacing": "None"}))
		}
	}
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "msteams": object{"width": "Full"}, "body": body}
	if r.URL != "" {
		card["actions"] = []any{object{"type": "Action.OpenUrl", "title": "Show it in promcost", "url": r.URL}}
	}
	return object{"type": "message", "attachments": []any{object{"contentType": "application/vnd.microsoft.card.adaptive", "content": card}}}
}

// Plain is the report for any other receiver: its title, its headline, and all of it as Markdown.
func (r *Report) Plain() any {
	return object{"title": r.Title, "text": r.Window.text() + ": " + r.headline(), "markdown": r.Markdown(), "url": r.URL}
}

// cardText keeps names in texts of cards, which know links, lists and emphasis of Markdown, from being any of it.
var cardText = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "*", `\*`, "_", `\_`)

// cut is a text of at most so many characters.
func cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(slices.Concat(runes[:most-1], []rune{'…'}))
	}
	return text
}
