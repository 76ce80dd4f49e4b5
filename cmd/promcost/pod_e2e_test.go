//go:build e2e

package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/promcost/promcost/promquery/promtest"
)

// podServing is where promcost or promcost-apiserver says that it listens.
var podServing = regexp.MustCompile(`msg=(?:serving .*|"Listening on" )address=(\S+)`)

// podObject is what a kubelet needs of a pod with one container.
type podObject struct {
	Metadata struct {
		Namespace, Name string
		Labels          map[string]string
	}
	Spec struct {
		ServiceAccountName           string
		AutomountServiceAccountToken bool
		SecurityContext              podUser
		Containers                   []struct {
			Image           string
			Args            []string
			VolumeMounts    []struct{ Name, MountPath string }
			SecurityContext podUser
		}
		Volumes []podVolume
	}
	Status struct{ Phase string }
}

// podUser is who a pod or a container runs as.
type podUser struct{ RunAsUser, RunAsGroup, FSGroup uint32 }

// podVolume is a volume with the files of a ConfigMap, of a Secret, or with none of its own.
type podVolume struct {
	Name      string
	ConfigMap *struct{ Name string }
	Secret    *struct {
		SecretName string
		Items      []struct{ Key, Path string }
	}
}

// command does what a kubelet does: it is a program with the pod's arguments as the pod's user in a root that has the files of its
// volumes, the token of its account, and hosts, which lead to this machine. What was written to claims in the root before is
// still there.
func (p *podObject) command(t *testing.T, k *promtest.Kubernetes, root, program string, hosts ...string) *exec.Cmd {
	t.Helper()
	c, user := p.Spec.Containers[0], p.Spec.SecurityContext
	if c.SecurityContext.RunAsUser != 0 {
		user = c.SecurityContext
	}
	write := func(name string, mode os.FileMode, text []byte) {
		t.Helper()
		file := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, text, mode)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range c.VolumeMounts {
		dir := filepath.Join(root, m.MountPath)
		err := os.MkdirAll(dir, 0o755)
		if err == nil {
			err = os.Chown(dir, int(user.RunAsUser), int(user.FSGroup))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range p.Spec.Volumes {
			if v.Name == m.Name {
				for name, text := range v.files(t, k, p.Metadata.Namespace) {
					write(filepath.Join(m.MountPath, name), 0o644, text)
				}
			}
		}
	}
	write("etc/hosts", 0o644, []byte("127.0.0.1 localhost "+strings.Join(hosts, " ")+"\n"))
	write("program", 0o755, []byte(readText(t, program)))
	host, port, err := net.SplitHostPort(k.Address())
	if err != nil {
		t.Fatal(err)
	}
	if p.Spec.AutomountServiceAccountToken {
		const account = "var/run/secrets/kubernetes.io/serviceaccount/"
		write(account+"token", 0o644, []byte(k.Token(t, p.Metadata.Namespace, p.Spec.ServiceAccountName)))
		write(account+"ca.crt", 0o644, authorityOf(t, k.Address()))
		write(account+"namespace", 0o644, []byte(p.Metadata.Namespace))
	}
	cmd := exec.CommandContext(t.Context(), "/program", c.Args...)
	cmd.Dir, cmd.Env = "/", []string{"KUBERNETES_SERVICE_HOST=" + host, "KUBERNETES_SERVICE_PORT=" + port}
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user.RunAsUser, Gid: user.RunAsGroup}}
	return cmd
}

// run runs the command of a pod that serves until it is stopped, at an address of its own.
func (p *podObject) run(t *testing.T, k *promtest.Kubernetes, root, program string, hosts ...string) (address string, stop func()) {
	t.Helper()
	cmd := p.command(t, k, root, program, hosts...)
	cmd.Args = append(cmd.Args, "--web.listen-address=127.0.0.1:0")
	var output lockedBuffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("%s of %s:\n%.20000s", p.Metadata.Name, p.Metadata.Namespace, output.String())
		}
	})
	t.Cleanup(stop)
	eventually(t, "it does not serve", func() bool {
		found := podServing.FindStringSubmatch(output.String())
		if found != nil {
			address = found[1]
		}
		return found != nil
	})
	return address, stop
}

// files are those of the volume, by their names.
func (v *podVolume) files(t *testing.T, k *promtest.Kubernetes, namespace string) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	switch {
	case v.ConfigMap != nil:
		var o struct{ Data map[string]string }
		if err := k.Do(t.Context(), http.MethodGet, promtest.Path("ConfigMap", namespace, v.ConfigMap.Name), nil, &o); err != nil {
			t.Fatal(err)
		}
		for name, text := range o.Data {
			files[name] = []byte(text)
		}
	case v.Secret != nil:
		var o struct{ Data map[string][]byte }
		if err := k.Do(t.Context(), http.MethodGet, promtest.Path("Secret", namespace, v.Secret.SecretName), nil, &o); err != nil {
			t.Fatal(err)
		}
		if v.Secret.Items == nil {
			return o.Data
		}
		for _, item := range v.Secret.Items {
			files[item.Path] = o.Data[item.Key]
		}
	}
	return files
}

// authorityOf is the authority of the certificate that a server shows.
func authorityOf(t *testing.T, address string) []byte {
	t.Helper()
	conn, err := tls.Dial("tcp", address, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // whom to trust is what it finds out
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	chain := conn.ConnectionState().PeerCertificates
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: chain[len(chain)-1].Raw})
}

// selfSigned is a certificate of a host, as a Secret has it, and its own authority.
func selfSigned(t *testing.T, host string) map[string][]byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return map[string][]byte{"tls.crt": certificate, "ca.crt": certificate, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})}
}

// buildStatic builds a program of a tree as it is released: static, for it runs in an empty root.
func buildStatic(t *testing.T, tree, program string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), program)
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-tags=disable_grpc_modules", "-o", file, "./cmd/"+program)
	build.Dir, build.Env = tree, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v: %s", program, err, out)
	}
	return file
}
