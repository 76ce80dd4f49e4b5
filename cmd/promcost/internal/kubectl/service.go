package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Service is the Service of a promcost. As an http.RoundTripper it sends the path and the parameters of requests for GET to it,
// whatever their host.
type Service struct {
	runner    runner
	namespace string
	target    string // SCHEME:NAME:PORT
}

// Find finds the Service that the flags describe. stdin and stderr are the user's: a kubectl may ask for a login there.
func (f *Flags) Find(ctx context.Context, stdin io.Reader, stderr io.Writer) (*Service, error) {
	s := &Service{runner{f.program, f.args(), stdin, stderr}, f.namespace, f.service}
	if f.isWhole() {
		if f.namespace == "" {
			return nil, fmt.Errorf("--service=%s is in no namespace: give that by --namespace", f.service)
		}
		return s, nil
	}
	if strings.Contains(f.service, ":") {
		return nil, fmt.Errorf("--service=%s is no Service: give its NAME, or SCHEME:NAME:PORT such as http:promcost:http", f.service)
	}
	args := []string{"get", "services", "--output=json"}
	if f.service != "" {
		args = append(args, "--field-selector=metadata.name="+f.service)
	} else {
		args = append(args, "--selector="+f.selector)
	}
	if f.namespace != "" {
		args = append(args, "--namespace="+f.namespace)
	} else {
		args = append(args, "--all-namespaces")
	}
	text, _, err := s.runner.run(ctx, args...)
	switch {
	case isForbidden(err) && f.namespace == "":
		return nil, fmt.Errorf("find promcost's Service: %w: give its namespace by --namespace", err)
	case isForbidden(err):
		return nil, fmt.Errorf("find promcost's Service: %w: give it by --service=http:NAME:PORT, which takes no right to list Services", err)
	case err != nil:
		return nil, fmt.Errorf("find promcost's Service: %w", err)
	}
	s.namespace, s.target, err = f.choose(text)
	return s, err
}

// service is what the API says of a Service.
type service struct {
	Metadata struct{ Namespace, Name string }
	Spec     struct {
		Ports []struct {
			Name        string
			Port        int
			AppProtocol string
		}
	}
}

// choose returns the one Service of a list in JSON that has ports.
func (f *Flags) choose(text []byte) (namespace, target string, err error) {
	var list struct{ Items []service }
	if err := json.Unmarshal(text, &list); err != nil {
		return "", "", fmt.Errorf("read the Services that %s prints: %w", f.program, err)
	}
	var names []string
	for _, s := range list.Items {
		if len(s.Spec.Ports) == 0 {
			continue
		}
		names = append(names, s.Metadata.Namespace+"/"+s.Metadata.Name)
		port, scheme := s.Spec.Ports[0], "http"
		if port.AppProtocol == "https" || strings.HasPrefix(port.Name, "https") {
			scheme = "https"
		}
		if port.Name == "" {
			port.Name = strconv.Itoa(port.Port)
		}
		namespace, target = s.Metadata.Namespace, scheme+":"+s.Metadata.Name+":"+port.Name
	}
	wanted := "the labels " + f.selector
	if f.service != "" {
		wanted = "the name " + f.service
	}
	if f.namespace != "" {
		wanted += " in namespace " + f.namespace
	}
	switch len(names) {
	case 1:
		return namespace, target, nil
	case 0:
		return "", "", fmt.Errorf(`no Service has %s: "promcost manifests" makes one; name another by --service`, wanted)
	default:
		return "", "", fmt.Errorf("%d Services have %s (%s): name one by --namespace and --service", len(names), wanted, strings.Join(names, ", "))
	}
}

// String names the Service.
func (s *Service) String() string { return s.namespace + "/" + strings.Split(s.target, ":")[1] }

// RoundTrip implements http.RoundTripper. kubectl does not say what the status of an answer was: what fails is answered with
// status 502 and with a message, as promcost does.
func (s *Service) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return nil, errors.New("kubectl get --raw sends GET only, not " + req.Method)
	}
	path := "/api/v1/namespaces/" + s.namespace + "/services/" + s.target + "/proxy" + req.URL.RequestURI()
	body, warnings, err := s.runner.run(req.Context(), "get", "--raw="+path)
	if ended := req.Context().Err(); ended != nil {
		return nil, ended
	}
	code := http.StatusOK
	if err != nil {
		code = http.StatusBadGateway
		if body, err = json.Marshal(map[string]any{"code": code, "data": nil, "message": s.explain(err)}); err != nil {
			return nil, fmt.Errorf("encode message: %w", err)
		}
	}
	header := http.Header{"Content-Type": {http.DetectContentType(body)}}
	for _, w := range warnings {
		header.Add("Warning", "299 - "+strconv.Quote(w))
	}
	return &http.Response{
		Status: strconv.Itoa(code) + " " + http.StatusText(code), StatusCode: code, Header: header,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

// explain is what kubectl says of a failure, with a remedy where promcost did not answer itself.
func (s *Service) explain(err error) string {
	text := err.Error()
	namespaced := "kubectl --namespace=" + s.namespace
	switch {
	case isForbidden(err):
		return fmt.Sprintf("%s: asking takes the verb get of services/proxy in namespace %s", text, s.namespace)
	case strings.Contains(text, "no endpoints available"):
		return fmt.Sprintf("%s: no pod of Service %s is ready: see %s get pods", text, s, namespaced)
	case strings.Contains(text, "(NotFound)"):
		return fmt.Sprintf("%s: see %s get services", text, namespaced)
	case strings.Contains(text, "(Unauthorized)"), strings.Contains(text, "logged in"):
		return text + ": a promcost that wants a password cannot be asked by kubectl, which sends none: port-forward to it and use promcost query --server"
	}
	return text
}
