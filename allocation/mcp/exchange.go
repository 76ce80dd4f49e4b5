package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/promcost/promcost/allocation/memory"
)

// exchange is an HTTP request with one message or a batch of them, and its answer. It is one question to whatever bounds questions: its
// messages are answered one after the other, from one account of memory, and none once the client has left.
type exchange struct {
	request *http.Request
	account *memory.Account // open until the answer is sent
	turn    chan struct{}   // has room while no message is being answered
}

type exchangeKey struct{}

// exchanged opens an exchange for each request.
func (s *server) exchanged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e := &exchange{request: r, account: s.cfg.Memory.Open(remedy), turn: make(chan struct{}, 1)}
		defer e.account.Close()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, e)))
	})
}

// inTurn has the messages of an exchange answered one after the other. The SDK passes on the values of the request's context, but not its
// end.
func inTurn(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, message mcp.Request) (mcp.Result, error) {
		e, ok := ctx.Value(exchangeKey{}).(*exchange)
		if !ok { // over standard input
			return next(ctx, method, message)
		}
		ctx, cancel := context.WithCancel(memory.With(ctx, e.account))
		defer cancel()
		defer context.AfterFunc(e.request.Context(), cancel)()
		select {
		case e.turn <- struct{}{}:
			defer func() { <-e.turn }()
		case <-ctx.Done():
		}
		// The request may have ended already where the context that follows it has not yet.
		if err := cmp.Or(e.request.Context().Err(), ctx.Err()); err != nil {
			return nil, fmt.Errorf("answer %s: the client has left: %w", method, err)
		}
		before := e.account.Held()
		result, err := next(ctx, method, message)
		e.account.Return(e.account.Held() - before)
		if err != nil {
			return nil, err
		}
		return e.kept(result)
	}
}

// kept draws the memory that a result takes until it is sent: as it is, as JSON, and as a part of the answer to a batch. A tool call whose
// result has no room is a mistake, which says so.
func (e *exchange) kept(result mcp.Result) (mcp.Result, error) {
	const copies = 4
	call, ok := result.(*mcp.CallToolResult)
	bytes := 0
	if ok {
		for _, content := range call.Content {
			if text, ok := content.(*mcp.TextContent); ok {
				bytes += len(text.Text)
			}
		}
	} else {
		text, err := json.Marshal(result)
		if err != nil {
			return nil, fmt.Errorf("write the answer: %w", err)
		}
		bytes = len(text)
	}
	if err := e.account.Draw(copies * int64(bytes)); err != nil {
		if ok {
			return failed(err), nil
		}
		return nil, err
	}
	return result, nil
}
