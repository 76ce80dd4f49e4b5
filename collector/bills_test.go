package collector_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-kit/log"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/promcost/promcost/collector"
)

// fullBills has something of each metric.
func fullBills() collector.BillState {
	return collector.BillState{
		Reach:   []collector.BillReach{{Bill: "aws", Account: "payer", SubAccount: "prod", Until: time.Unix(1234, 0)}},
		Matched: []collector.BillRatio{{Bill: "aws", Ratio: 0.75}},
		Cloud: []collector.CloudCost{
			{Provider: "AWS", Account: "prod", Service: "S3\xff", Category: "Other", Cost: 1},
			{Provider: "AWS", Account: "prod", Service: "EC2", Category: "Virtual Machine", Cost: 9},
			{Provider: "AWS", Account: "prod", Service: "SQS", Category: "Other", Cost: 2},
			{Provider: "GCP", Account: "p", Service: "BigQuery", Category: "Other", Cost: 3},
		},
		Nodes: []collector.NodeRatio{{Cluster: "one", InstanceType: "m5.large", Ratio: 1.25}},
	}
}

func TestBills(t *testing.T) {
	for _, tc := range []struct {
		most int
		want string
	}{
		{4, `promcost_cloud_cost{account="p",category="Other",provider="GCP",service="BigQuery"} 3
promcost_cloud_cost{account="prod",category="Other",provider="AWS",service="S3` + "\uFFFD" + `"} 1
promcost_cloud_cost{account="prod",category="Other",provider="AWS",service="SQS"} 2
promcost_cloud_cost{account="prod",category="Virtual Machine",provider="AWS",service="EC2"} 9
`},
		{3, `promcost_cloud_cost{account="__other__",category="__other__",provider="AWS",service="__other__"} 3
promcost_cloud_cost{account="__other__",category="__other__",provider="GCP",service="__other__"} 3
promcost_cloud_cost{account="prod",category="Virtual Machine",provider="AWS",service="EC2"} 9
`},
	} {
		t.Run(fmt.Sprint(tc.most, " series"), func(t *testing.T) {
			var logged bytes.Buffer
			reg, most := prometheus.NewRegistry(), func() int { return tc.most }
			if err := collector.NewBills(reg, most, fullBills, log.NewLogfmtLogger(&logged)); err != nil {
				t.Fatal(err)
			}
			if err := collector.NewBills(reg, most, nil, nil); err == nil {
				t.Error("registered twice")
			}
			text, err := testutil.CollectAndFormat(reg, expfmt.TypeTextPlain, "promcost_cloud_cost", "promcost_bill_charged_until_timestamp_seconds", "promcost_bill_matched_ratio", "promcost_list_to_bill_ratio")
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for line := range strings.Lines(string(text)) {
				if !strings.HasPrefix(line, "#") {
					b.WriteString(line)
				}
			}
			want := `promcost_bill_charged_until_timestamp_seconds{account="payer",bill="aws",sub_account="prod"} 1234
promcost_bill_matched_ratio{bill="aws"} 0.75
` + tc.want + `promcost_list_to_bill_ratio{cluster="one",instance_type="m5.large"} 1.25
`
			if told := strings.Contains(logged.String(), "promcost_cloud_cost has more series"); told != (tc.most < 4) {
				t.Errorf("logged %q", logged.String())
			}
			if b.String() != want {
				t.Errorf("got\n%swant\n%s", b.String(), want)
			}
		})
	}
}
