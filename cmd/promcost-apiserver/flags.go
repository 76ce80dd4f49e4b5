package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/alecthomas/units"
	promconfig "github.com/prometheus/common/config"
	"github.com/prometheus/common/version"

	"github.com/promcost/promcost/allocation/kubeapi"
)

// flags are the command line.
type flags struct {
	url        string
	httpConfig string
	cluster    string
	address    string
	certFile   string
	keyFile    string
	service    string
	kubeconfig string
	maxMemory  units.Base2Bytes
	logLevel   string
}

// parse reads the command line. done means that nothing is left to do: help or the version was printed.
func parse(args []string, stdout, stderr io.Writer) (f *flags, done bool, err error) {
	f = &flags{}
	app := kingpin.New("promcost-apiserver", "Lets kubectl ask what pods cost: an aggregated API server of Kubernetes that asks a promcost.")
	app.HelpFlag.Short('h').Help("Show the flags.")
	app.Version(version.Print("promcost-apiserver"))
	app.VersionFlag.Help("Print the version.")
	app.UsageWriter(stdout).ErrorWriter(stderr).Terminate(func(int) { done = true })
	app.Flag("promcost.url", "URL of the promcost to ask, such as http://promcost:9003. One with a password is taken from the environment variable only.").
		PlaceHolder("URL").Envar("PROMCOST_URL").StringVar(&f.url)
	app.Flag("promcost.http-config", "File with credentials, TLS and headers for promcost, as Prometheus' http_config.").PlaceHolder("FILE").StringVar(&f.httpConfig)
	app.Flag("cluster.id", "Id of this cluster in promcost, where promcost knows several. No other cluster is shown.").PlaceHolder("ID").StringVar(&f.cluster)
	app.Flag("web.listen-address", "Address to listen on, by TLS.").Default(":8443").StringVar(&f.address)
	app.Flag("tls.cert-file", "File with the certificate. It is read again when it changes.").PlaceHolder("FILE").StringVar(&f.certFile)
	app.Flag("tls.key-file", "File with the certificate's key.").PlaceHolder("FILE").StringVar(&f.keyFile)
	app.Flag("service", "The Service in front, as NAMESPACE/NAME. Without --tls.cert-file, a certificate authority and a certificate for it are made in memory, and the APIService learns of them.").
		Default("promcost/promcost-apiserver").StringVar(&f.service)
	app.Flag("kubeconfig", "File that says how to reach the Kubernetes API. The default is the way that a pod has.").PlaceHolder("FILE").StringVar(&f.kubeconfig)
	f.maxMemory = kubeapi.DefaultMaxMemory
	app.Flag("cache.max-memory", "Most memory for answers that are kept for the next request.").Default(f.maxMemory.String()).BytesVar(&f.maxMemory)
	app.Flag("log.level", "Least severity to log: debug, info, warn or error.").Default("info").EnumVar(&f.logLevel, "debug", "info", "warn", "error")
	if _, err := app.Parse(args); done || err != nil {
		return nil, done, err
	}
	return f, false, f.check()
}

// leastMemory is the least that --cache.max-memory takes.
const leastMemory = 16 << 20

// check checks what can be checked before anything is started.
func (f *flags) check() error {
	namespace, name, ok := strings.Cut(f.service, "/")
	switch {
	case f.url == "":
		return errors.New("--promcost.url is missing: give the URL of a promcost, such as http://promcost:9003")
	case (f.certFile == "") != (f.keyFile == ""):
		return errors.New("--tls.cert-file and --tls.key-file belong together: give both, or neither")
	case !ok || namespace == "" || name == "" || strings.Contains(name, "/"):
		return fmt.Errorf("parse --service=%q: give NAMESPACE/NAME, such as promcost/promcost-apiserver", f.service)
	case f.maxMemory < leastMemory:
		return fmt.Errorf("parse --cache.max-memory=%s: give at least %s", f.maxMemory, units.Base2Bytes(leastMemory))
	}
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return errors.New("parse --promcost.url: it is not an HTTP URL: give one such as http://promcost:9003") // it may have a password in it
	}
	if u.RawQuery != "" || u.Fragment != "" {
		return errors.New("parse --promcost.url: parameters of the URL are not sent: leave them out")
	}
	return nil
}

// client returns an HTTP client for requests to promcost.
func (f *flags) client() (*kubeapi.Client, error) {
	cfg := promconfig.DefaultHTTPClientConfig
	if f.httpConfig != "" {
		read, _, err := promconfig.LoadHTTPConfigFile(f.httpConfig)
		if err != nil {
			return nil, fmt.Errorf("read --promcost.http-config %s: %w: it takes what Prometheus takes for http_config", f.httpConfig, err)
		}
		cfg = *read
	}
	u, err := url.Parse(f.url)
	if err != nil {
		return nil, errors.New("parse --promcost.url: it is not an HTTP URL")
	}
	if user := u.User; user != nil {
		if cfg.BasicAuth != nil || cfg.Authorization != nil || cfg.OAuth2 != nil {
			return nil, errors.New("both the URL and --promcost.http-config have credentials: leave one of them out")
		}
		password, _ := user.Password()
		cfg.BasicAuth, u.User = &promconfig.BasicAuth{Username: user.Username(), Password: promconfig.Secret(password)}, nil
	}
	client, err := promconfig.NewClientFromConfig(cfg, "promcost-apiserver", promconfig.WithUserAgent("promcost-apiserver/"+version.Version))
	if err != nil {
		return nil, fmt.Errorf("use --promcost.http-config: %w", err)
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // credentials go nowhere else
	return kubeapi.NewClient(client, u, f.cluster), nil
}
