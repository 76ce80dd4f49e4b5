package fetch

import (
	"io"
	"net/url"
	"time"

	"github.com/promcost/promcost/allocation/listprices"
)

// ReadAWS, ReadAzure and ReadGoogle read an answer of a provider for tests.
func ReadAWS(r io.Reader) ([]listprices.Row, error) {
	found := collecting("aws")
	err := readOffers(r, numOfferColumns, "eu-central-1", found)
	return found.rows, err
}

func ReadAzure(text []byte) ([]listprices.Row, error) {
	found := collecting("azure")
	_, err := readAzure(text, "eu-central-1", found)
	return found.rows, err
}

func ReadGoogle(text []byte) ([]listprices.Row, error) {
	found := collecting("gcp")
	_, err := readGoogle(text, found)
	return found.rows, err
}

// collecting collects the rows of a provider in a region.
func collecting(provider string) *collected {
	a := &asker{Request: Request{Provider: provider, Regions: []string{"eu-central-1"}, Currency: dollar, Now: time.Now()}, base: &url.URL{}}
	return a.newCollected()
}
