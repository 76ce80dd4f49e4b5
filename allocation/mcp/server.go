package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// server answers tool calls.
type server struct {
	cfg Config
	sdk *mcp.Server
}

// newServer returns a server of the tools, resources and prompts.
func newServer(cfg Config) *server {
	s := &server{cfg: cfg, sdk: mcp.NewServer(&mcp.Implementation{Name: "promcost", Title: "What Kubernetes workloads cost", Version: cfg.Version}, &mcp.ServerOptions{
		Instructions: instructions, Capabilities: &mcp.ServerCapabilities{},
	})}
	for _, t := range s.tools() {
		s.sdk.AddTool(&mcp.Tool{
			Name: t.name, Description: t.help, InputSchema: t.schema, OutputSchema: outputSchema(t.output),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)},
		}, handle(&t))
	}
	s.addResources()
	s.addPrompts()
	s.sdk.AddReceivingMiddleware(inTurn)
	return s
}

// instructions tell an assistant how to begin.
const instructions = "promcost says what Kubernetes workloads cost, from the metrics of a Prometheus. Costs are in the currency that answers name. " +
	"Begin with allocations (what costs how much) or explain_change (why it changed); drill with a filter and a finer aggregate. " +
	"Idle is capacity that nobody was allocated. Answers have warnings where data are missing: pass them on."

// Handler serves the protocol over HTTP, by one POST for each message. It keeps no sessions: clients get an id, and any id is
// taken. Which hosts and pages may ask is the caller's to check.
func Handler(cfg Config) http.Handler {
	s := newServer(cfg)
	streams := s.exchanged(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s.sdk }, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxRequest,
		// Proxies on this machine keep the name that clients know the server by.
		DisableLocalhostProtection: true,
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(sessionHeader) == "" && r.Method == http.MethodPost {
			w.Header().Set(sessionHeader, rand.Text())
		}
		streams.ServeHTTP(w, r)
	})
}

const (
	sessionHeader = "Mcp-Session-Id"
	maxRequest    = 1 << 20 // bytes
)

// Serve serves the protocol over standard input and output, until ctx ends or the input does.
func Serve(ctx context.Context, cfg Config) error {
	if err := newServer(cfg).sdk.Run(ctx, &mcp.StdioTransport{}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("serve the Model Context Protocol: %w", err)
	}
	return nil
}

// answerer answers a tool call with a text, or with an error that an assistant can learn from.
type answerer func(ctx context.Context, args arguments) ([]byte, error)

// handle is a tool handler. Mistakes are answers, so that an assistant sees what was wrong with its call. Arguments that the schema does
// not have are mistakes: the API may know them, and answer with something else than the tool reads.
func handle(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if p := recover(); p != nil {
				result, err = failed(fmt.Errorf("internal error: %v: report it with this: %.2000s", p, debug.Stack())), nil
			}
		}()
		args := arguments{}
		if len(req.Params.Arguments) > 0 {
			if err := json.Unmarshal(req.Params.Arguments, &args); err != nil {
				return failed(errors.New("read the arguments: give an object with a member for each argument, and no number above 1e308")), nil
			}
		}
		if err := t.schema.check(args); err != nil {
			return failed(err), nil
		}
		body, err := t.answer(ctx, args)
		if err != nil {
			return failed(err), nil
		}
		result = &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(body)}}}
		if t.output != nil {
			result.StructuredContent = json.RawMessage(body)
		}
		return result, nil
	}
}

// failed is the answer for a mistake.
func failed(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
}

// schema describes arguments in JSON Schema.
type schema struct {
	Type       string            `json:"type"`
	Properties map[string]member `json:"properties"`
	Required   []string          `json:"required,omitempty"`
}

// check reports an argument that the schema does not have.
func (s *schema) check(args arguments) error {
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if _, ok := s.Properties[name]; ok {
			continue
		}
		give, names := "none", slices.Sorted(maps.Keys(s.Properties))
		if last := len(names) - 1; last >= 0 {
			give = strings.TrimPrefix(strings.Join(names[:last], ", ")+" or "+names[last], " or ")
		}
		return fmt.Errorf("argument %.100s is unknown: give %s", name, give)
	}
	return nil
}

// outputSchema describes the answers of a tool by a value of their type. Answers may get members that are not in it.
func outputSchema(of any) any {
	if of == nil {
		return nil // and not a schema that is nil
	}
	described, err := jsonschema.ForType(reflect.TypeOf(of), &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[money]():           {Type: "number"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[parts]():           {Type: "array", Items: &jsonschema.Schema{Type: "object"}}, // of themselves
	}})
	if err != nil {
		panic("BUG: an answer without a schema: " + err.Error())
	}
	open(described)
	return described
}

// open lets objects have members that are not described.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Type == "object" && s.AdditionalProperties != nil && len(s.Properties) > 0 {
		s.AdditionalProperties = nil
	}
	open(s.Items)
	for _, p := range s.Properties {
		open(p)
	}
}

// member is an argument in a schema.
type member struct {
	Type        string   `json:"type"`
	Description string   `json:"description"`
	Enum        []string `json:"enum,omitempty"`
	Default     string   `json:"-"`
}

// schemaOf is the schema of some parameters of a path, with those that are required. extra are arguments of the tool's own.
func (s *server) schemaOf(path string, names, required []string, extra map[string]member) schema {
	out := schema{Type: "object", Properties: map[string]member{}, Required: required}
	for _, p := range s.cfg.Parameters(path) {
		if slices.Contains(names, p.Name) {
			out.Properties[p.Name] = p.member()
		}
	}
	maps.Copy(out.Properties, extra)
	return out
}

// member describes a parameter. Types that JSON Schema does not know are strings.
func (p *Parameter) member() member {
	m := member{Type: "string", Description: p.Help}
	switch {
	case p.Type == "boolean" || p.Type == "number":
		m.Type = p.Type
	case strings.Contains(p.Type, "|") && !slices.ContainsFunc(strings.Split(p.Type, "|"), func(t string) bool { return slices.Contains(openTypes, t) }):
		m.Enum = strings.Split(p.Type, "|")
	}
	if p.Default != "" {
		m.Description += " Default: " + p.Default + "."
	}
	return m
}

// openTypes are the types whose values cannot be listed.
var openTypes = []string{"boolean", "number", "duration", "list", "text", "time"}

// rowsArgument is the argument that bounds the rows of compact answers.
func rowsArgument() map[string]member {
	return map[string]member{"limit": {Type: "integer", Description: fmt.Sprintf("Most rows, the dearest first; the rest is summed to one more. Default: %d, at most %d.", defaultRows, mostRows)}}
}

// now is the time of an answer.
func now() time.Time { return time.Now().UTC() }
