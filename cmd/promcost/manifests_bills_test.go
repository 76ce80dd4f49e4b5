package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/promcost/promcost/cmd/promcost/internal/manifests"
	"github.com/promcost/promcost/promquery/promtest"
)

// podFiles are the files of the first container of promcost in objects, as far as ConfigMaps among them have them.
type podFiles struct {
	args    []string
	mounts  map[string]string            // paths by names of volumes
	secrets map[string]string            // names of Secrets by those of their volumes
	claims  map[string]string            // names of claims by those of their volumes
	maps    map[string]map[string]string // the data of ConfigMaps by names of volumes
}

// podFilesOf reads objects.
func podFilesOf(t *testing.T, objects []byte) podFiles {
	t.Helper()
	type source struct {
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Secret    struct {
			Name       string
			SecretName string `yaml:"secretName"`
		}
	}
	data := map[string]map[string]string{}
	var volumes []struct {
		Name                  string
		source                `yaml:",inline"`
		PersistentVolumeClaim struct {
			ClaimName string `yaml:"claimName"`
		} `yaml:"persistentVolumeClaim"`
		Projected struct{ Sources []source }
	}
	files := podFiles{mounts: map[string]string{}, secrets: map[string]string{}, claims: map[string]string{}, maps: map[string]map[string]string{}}
	for d := yaml.NewDecoder(bytes.NewReader(objects)); ; {
		var o struct {
			Kind     string
			Metadata struct{ Name string }
			Data     map[string]string
			Spec     struct {
				Template struct {
					Spec struct {
						Containers []struct {
							VolumeMounts []struct {
								Name      string
								MountPath string `yaml:"mountPath"`
							} `yaml:"volumeMounts"`
						}
						Volumes yaml.Node
					}
				}
			}
		}
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if o.Kind == "ConfigMap" {
			data[o.Metadata.Name] = o.Data
		}
		pod := o.Spec.Template.Spec
		if len(pod.Containers) == 0 {
			continue
		}
		if err := pod.Volumes.Decode(&volumes); err != nil {
			t.Fatal(err)
		}
		for _, m := range pod.Containers[0].VolumeMounts {
			files.mounts[m.Name] = m.MountPath
		}
	}
	for _, v := range volumes {
		for _, s := range append(v.Projected.Sources, v.source) {
			if s.ConfigMap.Name != "" {
				files.maps[v.Name] = data[s.ConfigMap.Name]
			}
			if name := s.Secret.Name + s.Secret.SecretName; name != "" {
				files.secrets[v.Name] = name
			}
		}
		if v.PersistentVolumeClaim.ClaimName != "" {
			files.claims[v.Name] = v.PersistentVolumeClaim.ClaimName
		}
	}
	files.args = manifests.Args(objects)[0]
	return files
}

// lay writes the files of a pod below a directory in place of the root, as a kubelet mounts them: the keys of ConfigMaps and Secrets are
// links. It returns the arguments with that root.
func (f podFiles) lay(t *testing.T, root string, secrets map[string]map[string]string, claims map[string]string) (args []string) {
	t.Helper()
	write := func(dir string, data map[string]string) {
		hidden := filepath.Join(dir, "..data")
		if err := os.MkdirAll(hidden, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range data {
			err := os.WriteFile(filepath.Join(hidden, name), []byte(strings.ReplaceAll(text, "/etc/promcost", root+"/etc/promcost")), 0o600)
			if err := errors.Join(err, os.Symlink(filepath.Join("..data", name), filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	for volume, path := range f.mounts {
		dir := filepath.Join(root, path)
		if f.maps[volume] != nil {
			write(dir, f.maps[volume])
		}
		if name := f.secrets[volume]; name != "" {
			write(dir, secrets[name])
		}
	}
	for volume, name := range f.claims {
		dir := filepath.Join(root, f.mounts[volume])
		if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(claims[name], dir); err != nil {
			t.Fatal(err)
		}
	}
	for _, arg := range f.args {
		args = append(args, strings.NewReplacer("=/etc/promcost", "="+root+"/etc/promcost", "=/data", "="+root+"/data").Replace(arg))
	}
	return args
}

// TestManifestsBills renders deployments whose config names bills, lays files where their pods mount them, runs the command of the
// container, and asks what the cluster costs by bill.
func TestManifestsBills(t *testing.T) {
	t.Parallel()
	blocks, truth := writeTruth(t, "--demo.nodes=4", "--demo.pods=40", "--demo.duration=50h", "--demo.end=2026-03-03T12:00:00Z")
	server := promtest.Start(t, blocks, promtest.Config{})
	bills := filepath.Join(blocks, "bills", "aws")
	store := fmt.Sprintf("{type: FILESYSTEM, config: {directory: %q}}", bills)
	secrets := map[string]map[string]string{"bills-store": {"store.yaml": store}}
	claims := map[string]string{"bills": bills}
	for _, tt := range []struct {
		name, config string
		flags        []string
		values       map[string]any
		beside       map[string]string // files beside the config that manifests are made of
	}{
		{name: "a claim", config: "path: bills", flags: []string{"--bills.existing-claim=bills"}},
		{name: "a part of a claim", config: "path: bills/*", flags: []string{"--bills.existing-claim=bills"}},
		{name: "the Secret of a store", config: "config: store.yaml", flags: []string{"--bills.secret=bills-store"}},
		{name: "a store without credentials", config: "config: store.yaml", beside: map[string]string{"store.yaml": store}},
		{name: "a claim and a Secret, in shards of pods", config: "config: store.yaml", flags: []string{"--bills.existing-claim=bills", "--bills.secret=bills-store", "--replicas=2"}},
		{name: "a volume of one's own", config: "path: /etc/promcost/mine/exports", values: map[string]any{
			"extraVolumes":      []any{map[string]any{"name": "mine", "persistentVolumeClaim": map[string]any{"claimName": "bills"}}},
			"extraVolumeMounts": []any{map[string]any{"name": "mine", "mountPath": "/etc/promcost/mine/exports"}},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			tt.values = merged(tt.values, map[string]any{"prometheus": map[string]any{"url": "http://p:9090"}})
			text, err := json.Marshal(tt.values)
			if err != nil {
				t.Fatal(err)
			}
			for name, text := range merged(tt.beside, map[string]string{"config.yaml": "billsInterval: 1h\nbills:\n- {name: aws, settle: 0s, " + tt.config + "}\n", "values.yaml": string(text)}) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			objects := manifestsOf(t, append(tt.flags, "--values="+filepath.Join(dir, "values.yaml"), "--config.file="+filepath.Join(dir, "config.yaml"))...)
			args := podFilesOf(t, objects).lay(t, t.TempDir(), secrets, claims)
			for i, arg := range args {
				if strings.HasPrefix(arg, "--prometheus.url=") {
					args[i] = "--prometheus.url=" + server
				}
			}
			base := spawn(t, slices.DeleteFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--web.listen-address") })...)
			eventually(t, "no charge of the bill is matched", func() bool {
				var got struct {
					Data struct {
						Bills []struct{ MatchedCost float64 }
					}
				}
				day := truth.End.Truncate(24 * time.Hour)
				askFor(t, base+"/model/reconciliation", day.Add(-24*time.Hour), day, "", &got)
				return len(got.Data.Bills) == 1 && got.Data.Bills[0].MatchedCost > 0
			})
		})
	}
}

// merged is a mapping with those elements of another one that it lacks.
func merged[V any](m, more map[string]V) map[string]V {
	out := map[string]V{}
	maps.Copy(out, more)
	maps.Copy(out, m)
	return out
}
