package main

import (
	"crypto/x509"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/client/pkg/v3/transport"
	"go.uber.org/zap"

	"minikcm.dev/minikcm/internal/storetest"
)

// The etcd flags work with an etcd that requires client certificates.
func TestEtcdWithCertificates(t *testing.T) {
	server, err := transport.SelfCert(zap.NewNop(), t.TempDir(), []string{"127.0.0.1:0"}, 1)
	if err != nil {
		t.Fatal(err)
	}
	client, err := transport.SelfCert(zap.NewNop(), t.TempDir(), []string{"127.0.0.1:0"}, 1, x509.ExtKeyUsageClientAuth)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := storetest.StartEtcd(t, storetest.EtcdOptions{TLS: &transport.TLSInfo{
		CertFile: server.CertFile, KeyFile: server.KeyFile, TrustedCAFile: client.CertFile, ClientCertAuth: true,
	}})
	flags := []string{"--etcd-servers", endpoint, "--etcd-cafile", server.CertFile, "--etcd-certfile", client.CertFile, "--etcd-keyfile", client.KeyFile}
	p, kubeconfig := launchUp(t, t.TempDir(), flags...)
	createConfigMaps(t, clientOf(t, kubeconfig), "a")
	if found, _ := configMaps(t, clientOf(t, kubeconfig)); len(found) != 1 {
		t.Errorf("there are %v", found)
	}
	file := filepath.Join(t.TempDir(), "snapshot.db")
	if code, out, errOut := call(append([]string{"etcd-snapshot", "save", file}, flags...)...); code != 0 || !strings.HasPrefix(out, "Saved "+file+": ") {
		t.Errorf("saving a snapshot ends with %d: %s%s", code, out, errOut)
	}
	p.stop()

	for name, test := range map[string]struct {
		flags []string
		want  string
		code  int
	}{
		"no certificate": {flags[:4], "etcd at " + endpoint + " gave no answer", 1},
		"no authority":   {append(flags[:2:2], flags[4:]...), "certificate signed by unknown authority", 1},
		"another's":      {append(flags[:2:2], append([]string{"--etcd-cafile", client.CertFile}, flags[4:]...)...), "certificate signed by unknown authority", 1},
		"no key":         {flags[:6], "--etcd-certfile and --etcd-keyfile must be given together", 2},
		"without TLS":    {[]string{"--etcd-servers", strings.Replace(endpoint, "https", "http", 1)}, "gave no answer", 1},
		"no such file":   {append(flags[:2:2], "--etcd-cafile", "/nowhere/ca.crt"), "/nowhere/ca.crt: no such file", 2},
		"unused flags":   {flags[2:], "--etcd-servers, which is missing", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := launch(t, t.TempDir(), "run", append([]string{"up"}, test.flags...)...)
			if code, out := p.end(); code != test.code || out != "" || !strings.Contains(p.stderr.String(), test.want) {
				t.Errorf("it ends with %d: %s%s", code, out, p.stderr.String())
			}
		})
	}
}
