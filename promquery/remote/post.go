package remote

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/promcost/promcost/promquery"
)

// Post sends a form to a path that is not of Prometheus' API, as the requests of the source are sent: with its credentials and parameters, bounded, and
// repeated where that may help. read gets the content type and the body of each good answer, that of a repeated request from its
// beginning. sent is called for each try.
func (s *Source) Post(ctx context.Context, path string, form url.Values, read func(contentType string, body io.Reader) error, sent func(promquery.Sent)) error {
	form = maps.Clone(form)
	maps.Copy(form, s.cfg.Params)
	req := request{method: http.MethodPost, path: path, query: form, tries: tries}
	return s.send(ctx, req, func(resp *http.Response, body io.Reader) (bool, error) {
		if endsByClose(resp) {
			return false, errEndedByClose
		}
		return false, read(mediaType(resp), body)
	}, sent)
}

// IsRefused reports whether a server has answered that it does not take a request, such as one for a path that it does not have.
func IsRefused(err error) bool {
	var serr *statusError
	return errors.As(err, &serr) && serr.code/100 == 4 && serr.code != http.StatusTooManyRequests && !unauthorized(serr)
}
