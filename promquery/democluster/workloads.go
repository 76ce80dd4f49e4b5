package democluster

import (
	"math"
	"time"
)

// Amounts: CPU in millionths of a core, so that µcores × ms = ns of CPU time, the unit of cAdvisor's counters,
// and every integral is exact in int64; memory in bytes.
const (
	millicore = int64(1000)
	core      = 1000 * millicore
	mebibyte  = int64(1) << 20
	gibibyte  = int64(1) << 30
)

// resources is an amount of each schedulable resource: µcores, bytes, GPUs.
type resources struct {
	cpu, mem int64
	gpu      gpus
}

func (r resources) plus(o resources) resources {
	return resources{r.cpu + o.cpu, r.mem + o.mem, r.gpu.plus(o.gpu)}
}

func (r resources) minus(o resources) resources {
	return resources{r.cpu - o.cpu, r.mem - o.mem, r.gpu.minus(o.gpu)}
}

func (r resources) fits(o resources) bool {
	return r.cpu <= o.cpu && r.mem <= o.mem && r.gpu.fits(o.gpu)
}

// profile bounds what a container uses: a slot's level lies in [lo, hi], in a fraction `chance` of the slots in [hi, burst].
type profile struct {
	lo, hi, burst resources
	chance        float64
}

// containerSpec is a container of a pod template. A zero request means none.
type containerSpec struct {
	name, image    string
	init           bool
	sidecar        bool // an init container that is restarted always: it runs beside the main ones
	request, limit resources
	usage          profile
}

// peak is the most that max(request, usage) can ever be: what the scheduler reserves.
func (s containerSpec) peak() resources {
	top := s.usage.hi
	if s.usage.chance > 0 {
		top = s.usage.burst
	}
	return resources{max(s.request.cpu, top.cpu), max(s.request.mem, top.mem), s.request.gpu}
}

// scaled shrinks the CPU and memory amounts, in whole 5 millicores and MiB.
func (s containerSpec) scaled(by float64) containerSpec {
	shrink := func(r resources) resources {
		round := func(v, unit int64) int64 {
			if v == 0 {
				return 0
			}
			return max(1, int64(math.Round(float64(v)*by/float64(unit)))) * unit
		}
		return resources{round(r.cpu, 5*millicore), round(r.mem, mebibyte), r.gpu}
	}
	s.request, s.limit = shrink(s.request), shrink(s.limit)
	s.usage.lo, s.usage.hi, s.usage.burst = shrink(s.usage.lo), shrink(s.usage.hi), shrink(s.usage.burst)
	return s
}

// template is a row of the workload table.
type template struct {
	team, namespace, name, kind string
	weight                      int           // share of the replicas left over for Deployments
	replicas                    int           // fixed number of replicas, if weight is 0
	every                       time.Duration // Jobs: time between starts
	lasts                       []time.Duration
	starts                      time.Duration // Jobs: how long after they are due their container starts, to the second; 0 is a few seconds
	hours                       int64         // Jobs: they are started in one hour of so many only; 0 is every hour
	begins, ends                float64       // fractions of the history at which its namespace is made and deleted; 0 is before and after all of it
	service, serviceType        string
	storage                     int64  // bytes of the volume of each replica
	mounts                      string // claim of its namespace that all its pods mount
	egress                      egress
	gpuOnly                     bool          // only in copies that have a GPU node
	utilization                 bool          // the exporter measures how busy its GPUs are: DCGM_FI_DEV_GPU_UTIL
	separate                    bool          // its pods are numbered separately, so that it can be added without changing others
	pulls                       time.Duration // about how long its images take to come
	containers                  []containerSpec
}

// Kinds of workloads as Kubernetes spells them.
const (
	deployment  = "Deployment"
	statefulSet = "StatefulSet"
	daemonSet   = "DaemonSet"
	cronJob     = "CronJob"
	job         = "Job"
)

// app is a container that requests the given millicores and MiB, uses 35–90 % of them and, with a chance, bursts above.
func app(name, image string, cpu, mem int64, chance float64) containerSpec {
	req := resources{cpu: cpu * millicore, mem: mem * mebibyte}
	return containerSpec{
		name: name, image: image, request: req, limit: resources{cpu: 2 * req.cpu, mem: 2 * req.mem},
		usage: profile{
			lo:     resources{cpu: req.cpu * 35 / 100, mem: req.mem * 55 / 100},
			hi:     resources{cpu: req.cpu * 90 / 100, mem: req.mem * 92 / 100},
			burst:  resources{cpu: req.cpu * 160 / 100, mem: req.mem * 135 / 100},
			chance: chance,
		},
	}
}

// bestEffort is a container without requests that uses about the given millicores and MiB.
func bestEffort(name, image string, cpu, mem int64) containerSpec {
	return containerSpec{name: name, image: image, usage: profile{
		lo: resources{cpu: cpu * 60 / 100 * millicore, mem: mem * 85 / 100 * mebibyte},
		hi: resources{cpu: cpu * millicore, mem: mem * mebibyte},
	}}
}

func asInit(s containerSpec) containerSpec { s.init = true; return s }

func asSidecar(s containerSpec) containerSpec { s.sidecar = true; return s }

func withGPU(s containerSpec, g gpus) containerSpec {
	s.request.gpu, s.limit.gpu = g, g
	return s
}

const (
	short  = 30 * time.Second
	medium = 5 * time.Minute
	long   = time.Hour
)

// teamTemplates is what one copy of the three teams' namespaces runs.
func teamTemplates() []template {
	return []template{
		{team: "team-a", namespace: "payments", name: "checkout-api", kind: deployment, weight: 10, service: "checkout", serviceType: "LoadBalancer", egress: goes(40, 10, 20, 20), containers: []containerSpec{
			asInit(app("schema-check", "registry.example.com/payments/schema-check:1.4", 100, 64, 0)),
			app("app", "registry.example.com/payments/checkout-api:2.31", 250, 384, 0),
			asSidecar(app("istio-proxy", "docker.io/istio/proxyv2:1.26.0", 50, 96, 0)),
		}},
		{team: "team-a", namespace: "payments", name: "ledger-writer", kind: deployment, weight: 8, containers: []containerSpec{
			app("ledger", "registry.example.com/payments/ledger-writer:0.9", 400, 768, 0.3),
		}},
		{team: "team-a", namespace: "payments", name: "web-frontend", kind: deployment, weight: 14, service: "web", serviceType: "ClusterIP", containers: []containerSpec{
			app("nginx", "docker.io/library/nginx:1.29", 100, 128, 0.1),
		}},
		{team: "team-a", namespace: "payments", name: "postgres", kind: statefulSet, replicas: 3, storage: 100 * gibibyte, service: "postgres", serviceType: "ClusterIP", egress: goes(0, 20, 30, 50), containers: []containerSpec{
			app("postgres", "docker.io/library/postgres:17", 500, 2048, 0),
		}},
		{team: "team-a", namespace: "payments", name: "settle-transactions", kind: cronJob, every: 20 * time.Minute, lasts: []time.Duration{medium}, egress: goes(80, 0, 0, 0), containers: []containerSpec{
			asInit(app("fetch-rates", "registry.example.com/payments/fetch-rates:1.1", 100, 64, 0)),
			app("settle", "registry.example.com/payments/settle:3.0", 200, 256, 0.4),
		}},
		{team: "team-a", namespace: "payments", name: "heartbeat-probe", kind: cronJob, every: 5 * time.Minute, lasts: []time.Duration{short}, containers: []containerSpec{
			app("probe", "registry.example.com/payments/probe:1.0", 50, 32, 0.3),
		}},
		{team: "team-b", namespace: "search", name: "query-frontend", kind: deployment, weight: 14, service: "query", serviceType: "ClusterIP", egress: goes(60, 0, 10, 0), containers: []containerSpec{
			app("query", "registry.example.com/search/query-frontend:5.2", 200, 512, 0),
		}},
		{team: "team-b", namespace: "search", name: "indexer", kind: deployment, weight: 8, containers: []containerSpec{
			app("indexer", "registry.example.com/search/indexer:5.2", 300, 1024, 0.35),
		}},
		{team: "team-b", namespace: "search", name: "elasticsearch", kind: statefulSet, replicas: 3, storage: 200 * gibibyte, service: "elasticsearch", serviceType: "ClusterIP", egress: goes(0, 0, 30, 0), containers: []containerSpec{
			app("elasticsearch", "docker.elastic.co/elasticsearch/elasticsearch:8.19.0", 1000, 4096, 0),
		}},
		{team: "team-b", namespace: "search", name: "cache-warmer", kind: deployment, weight: 8, containers: []containerSpec{
			bestEffort("warmer", "registry.example.com/search/cache-warmer:1.1", 180, 220),
		}},
		{team: "team-b", namespace: "search", name: "reindex", kind: cronJob, mounts: scratchClaim, every: 2 * time.Hour, lasts: []time.Duration{long}, containers: []containerSpec{
			app("reindex", "registry.example.com/search/indexer:5.2", 500, 1024, 0.5),
		}},
		{team: "team-b", namespace: "search", name: "backfill", kind: job, every: 25 * time.Minute, lasts: []time.Duration{short, medium, long}, egress: goes(0, 50, 0, 0), containers: []containerSpec{
			app("backfill", "registry.example.com/search/backfill:0.3", 300, 512, 0.3),
		}},
		{team: "team-c", namespace: "ml", name: "feature-server", kind: deployment, weight: 12, service: "features", serviceType: "ClusterIP", containers: []containerSpec{
			app("features", "registry.example.com/ml/feature-server:4.7", 300, 768, 0.15),
		}},
		{team: "team-c", namespace: "ml", name: "notebook", kind: deployment, weight: 6, mounts: sharedClaim, containers: []containerSpec{
			bestEffort("jupyter", "quay.io/jupyter/scipy-notebook:2026-01", 250, 900),
		}},
		{team: "team-c", namespace: "ml", name: "model-server", kind: deployment, replicas: 1, gpuOnly: true, containers: []containerSpec{
			withGPU(app("triton", "nvcr.io/nvidia/tritonserver:26.01-py3", 4000, 16384, 0), gpus{whole: 1}),
		}},
		{team: "team-c", namespace: "ml", name: "train", kind: cronJob, every: 3 * time.Hour, lasts: []time.Duration{long}, gpuOnly: true, utilization: true, containers: []containerSpec{
			withGPU(app("train", "registry.example.com/ml/train:2.2", 6000, 32768, 0.5), gpus{whole: 1}),
		}},
		{team: "team-c", namespace: "ml", name: "experiment", kind: job, mounts: sharedClaim, every: 40 * time.Minute, lasts: []time.Duration{medium}, containers: []containerSpec{
			bestEffort("experiment", "registry.example.com/ml/experiment:0.1", 600, 700),
		}},
	}
}

// sharedGPUTemplates is what runs on parts of GPUs in a copy that has a GPU node.
func sharedGPUTemplates() []template {
	return []template{
		{team: "team-c", namespace: "ml", name: "embedder", kind: deployment, replicas: 2, separate: true, containers: []containerSpec{
			withGPU(app("embedder", "registry.example.com/ml/embedder:1.8", 400, 1536, 0), gpus{slices: 1}),
		}},
		{team: "team-c", namespace: "ml", name: "gpu-notebook", kind: deployment, replicas: 3, separate: true, mounts: sharedClaim, containers: []containerSpec{
			withGPU(app("jupyter", "quay.io/jupyter/pytorch-notebook:cuda12-2026-01", 250, 1024, 0.2), gpus{shared: 1}),
		}},
		{team: "team-c", namespace: "ml", name: "batch-scoring", kind: cronJob, every: 90 * time.Minute, lasts: []time.Duration{70 * time.Minute, 25 * time.Minute}, separate: true, pulls: 4 * time.Minute, containers: []containerSpec{
			withGPU(app("score", "registry.example.com/ml/batch-scoring:2.0", 500, 2048, 0), gpus{slices: 2}),
		}},
	}
}

// previews is the namespace that is deleted, and made again for another team.
const previews = "previews"

// incidentTemplates is what is easily counted wrongly, once a cluster: Jobs in step with each other and with what reads them, a
// container that crashes, a namespace of one name with other labels; and a team that is new.
func incidentTemplates() []template {
	return []template{
		// In a crontab: * */4 * * *
		{team: "team-a", namespace: "payments", name: "drain-queue", kind: cronJob, every: time.Minute, hours: 4, starts: 3 * time.Second, lasts: []time.Duration{25 * time.Second}, separate: true, containers: []containerSpec{
			app("drain", "registry.example.com/payments/drain-queue:1.2", 50, 32, 0),
		}},
		{team: "team-b", namespace: "search", name: "hourly-report", kind: cronJob, every: time.Hour, starts: 3 * time.Second, lasts: []time.Duration{medium}, separate: true, containers: []containerSpec{
			app("report", "registry.example.com/search/report:2.4", 100, 128, 0),
		}},
		{team: "team-a", namespace: "payments", name: "webhook", kind: deployment, replicas: 1, separate: true, containers: []containerSpec{
			app("webhook", "registry.example.com/payments/webhook:0.7", 150, 256, 0),
		}},
		{team: "team-b", namespace: previews, name: "preview", kind: deployment, replicas: 2, separate: true, ends: atNamespaceGone, containers: []containerSpec{
			app("preview", "registry.example.com/search/preview:1.0", 100, 128, 0),
		}},
		{team: "team-c", namespace: previews, name: "preview", kind: deployment, replicas: 2, separate: true, begins: atNamespaceBack, containers: []containerSpec{
			app("preview", "registry.example.com/ml/preview:2.0", 100, 128, 0),
		}},
		{team: "team-d", namespace: "fraud", name: "risk-scorer", kind: deployment, replicas: 4, separate: true, begins: atNewTeam, containers: []containerSpec{
			app("scorer", "registry.example.com/fraud/risk-scorer:0.1", 250, 512, 0),
		}},
	}
}

// systemTemplates is what kube-system runs, once a cluster.
func systemTemplates() []template {
	return []template{
		{team: "platform", namespace: "kube-system", name: "kube-proxy", kind: daemonSet, containers: []containerSpec{
			app("kube-proxy", "registry.k8s.io/kube-proxy:v1.34.1", 100, 64, 0),
		}},
		{team: "platform", namespace: "kube-system", name: "node-exporter", kind: daemonSet, containers: []containerSpec{
			app("node-exporter", "quay.io/prometheus/node-exporter:v1.10.2", 50, 48, 0),
		}},
		{team: "platform", namespace: "kube-system", name: "fluent-bit", kind: daemonSet, containers: []containerSpec{
			bestEffort("fluent-bit", "docker.io/fluent/fluent-bit:4.1", 60, 80),
		}},
		{team: "platform", namespace: "kube-system", name: "coredns", kind: deployment, replicas: 2, service: "kube-dns", serviceType: "ClusterIP", containers: []containerSpec{
			app("coredns", "registry.k8s.io/coredns/coredns:v1.12.4", 100, 128, 0),
		}},
		{team: "platform", namespace: "kube-system", name: "metrics-server", kind: deployment, replicas: 1, containers: []containerSpec{
			app("metrics-server", "registry.k8s.io/metrics-server/metrics-server:v0.8.0", 100, 200, 0),
		}},
		{team: "platform", namespace: "kube-system", name: "cluster-autoscaler", kind: deployment, replicas: 1, containers: []containerSpec{
			app("cluster-autoscaler", "registry.k8s.io/autoscaling/cluster-autoscaler:v1.34.0", 100, 512, 0),
		}},
	}
}
