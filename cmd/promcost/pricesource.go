package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-kit/log/level"

	"github.com/promcost/promcost/allocation"
	"github.com/promcost/promcost/allocation/listprices/fetch"
	"github.com/promcost/promcost/allocation/rates"
	"github.com/promcost/promcost/cmd/promcost/internal/config"
	"github.com/promcost/promcost/cmd/promcost/internal/httpclient"
	"github.com/promcost/promcost/cmd/promcost/internal/pricewatch"
	"github.com/promcost/promcost/collector"
)

// googleKey is the environment variable with Google's API key.
const googleKey = "PROMCOST_PRICING_GOOGLE_KEY"

// priceSourceFlags say how list prices are fetched.
type priceSourceFlags struct {
	on         bool // of servers: whether they are
	httpConfig string
	urls       map[string]string // by provider
	keyFile    string
	key        secretValue
	keyGiven   bool // on the command line, where every user of the machine can read it
}

// secretValue is the value of a flag that is not shown.
type secretValue string

// Set implements kingpin.Value.
func (v *secretValue) Set(text string) error {
	*v = secretValue(text)
	return nil
}

// String shows nothing.
func (v *secretValue) String() string { return "" }

// addPriceSourceFlags adds the flags that say where list prices are fetched from.
func addPriceSourceFlags(g flagGroup) *priceSourceFlags {
	f := &priceSourceFlags{urls: map[string]string{}}
	g.Flag("pricing.http-config", "File that says how to reach price lists: proxy, TLS, headers, as Prometheus has it. Without it, by the proxy of the environment. See: https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config").
		PlaceHolder("FILE").StringVar(&f.httpConfig)
	eachOf(g, "pricing.url", "URL of a mirror of a provider's price lists, such as aws=https://mirror.example.com, in place of the provider's own.", func(text string) error {
		provider, url, ok := strings.Cut(text, "=")
		if !ok || !slices.Contains(fetch.Providers(), provider) {
			return fmt.Errorf("give PROVIDER=URL, where the provider is %s", oneOfList("", fetch.Providers()))
		}
		f.urls[provider] = url
		return nil
	}).PlaceHolder("PROVIDER=URL")
	g.Flag("pricing.google-key-file", "File with an API key for Google's billing catalog, which wants one. The environment variable "+googleKey+" may have the key itself.").PlaceHolder("FILE").StringVar(&f.keyFile)
	g.Flag("pricing.google-key", "That key itself.").Hidden().Envar(googleKey).IsSetByUser(&f.keyGiven).SetValue(&f.key)
	return f
}

// used are the flags if list prices are fetched for a source of a kind, else nil: without a source there is nothing to price.
func (f *priceSourceFlags) used(source string) *priceSourceFlags {
	if !f.on || source == sourceNone {
		return nil
	}
	return f
}

// open is the client that asks, and Google's API key.
func (f *priceSourceFlags) open() (client *http.Client, key string, err error) {
	if f.keyGiven {
		return nil, "", usageErrorf("Google's API key on the command line can be read by every user of this machine: set the environment variable %s, or give --pricing.google-key-file", googleKey)
	}
	key = string(f.key)
	if f.keyFile != "" {
		text, err := os.ReadFile(f.keyFile)
		if err != nil {
			return nil, "", fmt.Errorf("read --pricing.google-key-file: %w: give a readable file", err)
		}
		key = string(text)
	}
	cfg, err := httpclient.ReadConfig("--pricing.http-config", f.httpConfig)
	if err != nil {
		return nil, "", err
	}
	if cfg.HTTP.ProxyURL.URL == nil {
		cfg.HTTP.ProxyFromEnvironment = true
	}
	client, err = httpclient.New(cfg, nil)
	return client, strings.TrimSpace(key), err
}

// watchPrices makes what fetches list prices and keeps them beside the history, and reads those that are kept. Without flags, none are fetched.
func (s *service) watchPrices(f *priceSourceFlags, k *keeping) error {
	if f == nil {
		return nil
	}
	client, key, err := f.open()
	if err != nil {
		return err
	}
	s.reload.lists = pricewatch.New(pricewatch.Options{
		Client: client, URLs: f.urls, Key: key, Backend: k.backend, ReadOnly: k.unwritable != nil, Places: s.pricePlaces, Currency: func() string { return s.settings().Currency },
		Changed: s.relist, Now: s.now, Logger: s.logs.kit,
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.reload.lists.Load(ctx); err != nil {
		level.Warn(s.logs.kit).Log("msg", "Reading the kept list prices failed: they are fetched again", "err", err)
	}
	return collector.NewPriceFetches(s.registry, s.reload.lists.State)
}

// firstTime is how long the first list prices may take, for which storing hours waits: hours that are stored keep their prices.
const firstTime = 3 * time.Minute

// firstPrices fetches list prices before anything is stored, if none are kept yet. It computes the last hour, to see where nodes run. If that fails, hours are stored
// without list prices.
func (s *service) firstPrices(ctx context.Context) {
	if s.reload.lists == nil || len(s.reload.lists.Tables()) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, firstTime)
	defer cancel()
	end := s.clock().UTC().Truncate(time.Hour)
	sets, err := s.computer.Compute(ctx, allocation.Query{Window: allocation.Window{Start: end.Add(-time.Hour), End: end}, Resolution: allocation.AutoResolution})
	if err != nil || len(sets) == 0 {
		level.Warn(s.logs.kit).Log("msg", "It is not known yet where nodes run: the first hours are stored without list prices that are fetched", "err", err)
		return
	}
	places := placesOf(sets[0], s.settings())
	if len(places) == 0 {
		level.Warn(s.logs.kit).Log("msg", "No list prices are fetched as long as no node says its provider and region",
			"remedy", "have kube-state-metrics export labels of nodes, or name provider and region of clusters in the config file")
		return
	}
	s.reload.lists.Add(places)
	s.reload.lists.Look(ctx)
}

// fetchPrices fetches list prices until ctx ends, if that is asked for.
func (s *service) fetchPrices(ctx context.Context) error {
	if s.reload.lists == nil {
		return nil
	}
	return s.reload.lists.Run(ctx)
}

// withListed is settings with the list prices that were fetched.
func (s *service) withListed(next *config.Settings) *config.Settings {
	if s.reload.lists == nil {
		return next
	}
	return next.WithFetched(s.reload.lists.Tables())
}

// relist has the settings in use price by the list prices that were fetched since.
func (s *service) relist() {
	s.reload.mu.Lock()
	defer s.reload.mu.Unlock()
	if err := s.use(s.withListed(s.settings())); err != nil {
		level.Error(s.logs.kit).Log("msg", "Pricing by the list prices that were fetched failed: those from before stay", "err", err)
		return
	}
	s.recorder.Refresh()
}

// pricePlaces are where the nodes of the last closed hour run.
func (s *service) pricePlaces() []pricewatch.Place {
	set, _, _ := s.recorder.Latest()
	return placesOf(set, s.settings())
}

// placesOf are where the nodes of a set run, nil for none; where metrics do not say it, the config file does.
func placesOf(set *allocation.Set, settings *config.Settings) []pricewatch.Place {
	if set == nil {
		return nil
	}
	var places []pricewatch.Place
	for i := range set.Nodes {
		n := &set.Nodes[i]
		p := pricewatch.Place{Provider: strings.ToLower(rates.Provider(n.ProviderID)), Region: n.Region}
		c := settings.Clusters[n.Cluster]
		if p.Provider == "" {
			p.Provider = strings.ToLower(c.Provider)
		}
		if p.Region == "" {
			p.Region = c.Region
		}
		if p.Region == "" {
			p.Region = rates.Region(n.ProviderID)
		}
		if p.Provider != "" && p.Region != "" && !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	return places
}

// errNoPlaces is the error for nodes that do not say where they are.
var errNoPlaces = errors.New("fetch list prices: no node of the source says that it is in a region of AWS, Azure or Google whose prices are wanted: give --provider and --region")
