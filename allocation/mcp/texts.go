package mcp

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:generate cp ../../SEMANTICS.md semantics.md

// semantics says what the numbers mean: SEMANTICS.md.
//
//go:embed semantics.md
var semantics string

// addResources adds the texts that assistants may read.
func (s *server) addResources() {
	for _, r := range []struct{ uri, name, title, text string }{
		{"promcost://semantics", "semantics", "What the numbers mean", semantics},
		{"promcost://metrics", "metrics", "The metrics of costs", s.cfg.Metrics},
	} {
		s.sdk.AddResource(&mcp.Resource{URI: r.uri, Name: r.name, Title: r.title, MIMEType: "text/markdown"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.uri, MIMEType: "text/markdown", Text: r.text}}}, nil
		})
	}
}

// prompts are questions that people ask, with the window that they are about in place of %s.
var prompts = []struct{ name, title, window, text string }{
	{
		"why_did_my_bill_rise", "Why did my bill rise?", "lastweek",
		"Why did our Kubernetes costs change in the window %s? Call explain_change by namespace with drill=controller, name the three effects that matter most, who caused them, and what could be done. Pass on warnings, and say where a change lies within the error bounds.",
	},
	{
		"where_is_waste", "Where do we waste money?", "7d",
		"Where do we waste money on Kubernetes in the window %s? Call allocations by controller with idle=true: compare efficiency and cost, then say which requests are much too large, how large idle is, and what it would save to halve both.",
	},
	{
		"what_was_unusual", "Was anything unusual, and where does this month end?", "7d",
		"Did anything cost unusually much or little in the window %s, and where does this month end? Call anomalies by controller, and for the three most unusual days explain_change with the day as window and its baseline. Then call forecast with period=month. Pass on warnings and notes.",
	},
	{
		"will_budgets_last", "Will our budgets last?", "month",
		"Will our budgets last? Call budgets, and for each that will not last, explain_change over the window %s with the filter of that budget's team, and say what changed.",
	},
}

// addPrompts adds the prompts.
func (s *server) addPrompts() {
	for _, p := range prompts {
		s.sdk.AddPrompt(&mcp.Prompt{
			Name: p.name, Title: p.title, Arguments: []*mcp.PromptArgument{{Name: "window", Description: "What time, such as lastweek, month or 7d. Default: " + p.window + "."}},
		}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			window := req.Params.Arguments["window"]
			if window == "" {
				window = p.window
			}
			return &mcp.GetPromptResult{Description: p.title, Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: fmt.Sprintf(p.text, window)}}}}, nil
		})
	}
}
