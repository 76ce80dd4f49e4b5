package billing_test

import (
	"os"
	"testing"

	"github.com/promcost/promcost/promquery/promtest/soak"
)

func TestMain(m *testing.M) { os.Exit(soak.Main(m)) }
