package certgen

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestParse(t *testing.T) {
	t.Parallel()
	secret := []string{"--namespace=shop", "--secret-name", "certs"}
	for name, tt := range map[string]struct {
		args []string
		want command
		err  string
	}{
		"create": {
			args: append([]string{"create", "--host=a,a.shop.svc"}, secret...),
			want: command{create: true, namespace: "shop", secret: "certs", certName: "cert", keyName: "key", caName: "ca", hosts: []string{"a", "a.shop.svc"}},
		},
		"keys of a TLS Secret": {
			args: append([]string{"create", "--host=a", "--cert-name=tls.crt", "--key-name=tls.key", "--ca-name", "ca.crt", "--log-level=debug"}, secret...),
			want: command{create: true, namespace: "shop", secret: "certs", certName: "tls.crt", keyName: "tls.key", caName: "ca.crt", hosts: []string{"a"}},
		},
		"patch": {
			args: append([]string{"patch", "--webhook-name=w", "--patch-mutating=false", "--patch-failure-policy=Fail"}, secret...),
			want: command{namespace: "shop", secret: "certs", caName: "ca", validating: "w", failurePolicy: "Fail"},
		},
		"patch of both": {
			args: append([]string{"patch", "--webhook-name=w", "--patch-validating"}, secret...),
			want: command{namespace: "shop", secret: "certs", caName: "ca", validating: "w", mutating: "w"},
		},
		"patch of others": {
			args: append([]string{"patch", "--crds=a.example.com,b.example.com", "--apiservice-name=v1.example.com"}, secret...),
			want: command{namespace: "shop", secret: "certs", caName: "ca", crds: []string{"a.example.com", "b.example.com"}, apiServices: []string{"v1.example.com"}},
		},
		"nothing":             {args: nil, err: "usage: minikcm-certgen create"},
		"unknown command":     {args: []string{"renew"}, err: `unknown command "renew"`},
		"without a host":      {args: append([]string{"create"}, secret...), err: "--host must be specified"},
		"without a Secret":    {args: []string{"create", "--host=a", "--namespace=shop"}, err: "--namespace and --secret-name must be specified"},
		"nothing to patch":    {args: append([]string{"patch"}, secret...), err: "there is nothing to patch"},
		"another's flag":      {args: append([]string{"create", "--webhook-name=w"}, secret...), err: "unknown flag --webhook-name"},
		"unknown flag":        {args: []string{"create", "--hosts=a"}, err: "unknown flag --hosts"},
		"an argument":         {args: []string{"create", "a"}, err: `unexpected argument "a"`},
		"without a value":     {args: []string{"create", "--host"}, err: "--host needs a value"},
		"not a bool":          {args: []string{"patch", "--patch-mutating=no"}, err: `--patch-mutating is "no", must be true or false`},
		"no such policy":      {args: append([]string{"patch", "--webhook-name=w", "--patch-failure-policy=Never"}, secret...), err: `--patch-failure-policy is "Never"`},
		"no webhook selected": {args: append([]string{"patch", "--webhook-name=w", "--patch-mutating=false", "--patch-validating=false"}, secret...), err: "there is nothing to patch"},
	} {
		got, err := parse(tt.args)
		if tt.err != "" {
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%s: %v, want %q", name, err, tt.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if diff := cmp.Diff(&tt.want, got, cmp.AllowUnexported(command{}), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestIssue(t *testing.T) {
	t.Parallel()
	made, err := issue([]string{"a.shop.svc", "10.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(made.cert, made.key)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(made.ca) {
		t.Fatalf("%s", made.ca)
	}
	for host, valid := range map[string]bool{"a.shop.svc": true, "10.0.0.1": true, "b.shop.svc": false} {
		_, err := pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host, CurrentTime: time.Date(2126, 1, 1, 0, 0, 0, 0, time.UTC)})
		if (err == nil) != valid {
			t.Errorf("%s: %v", host, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("create --host=a --namespace=b --secret-name=c")
	f.Add("patch --webhook-name w --patch-mutating --secret-name= --namespace")
	f.Fuzz(func(t *testing.T, line string) {
		c, err := parse(strings.Fields(line))
		if err == nil && (c.namespace == "" || c.secret == "" || c.create && len(c.hosts) == 0) {
			t.Errorf("%q: %+v", line, c)
		}
	})
}

// A wrong command line ends with a message before anything is asked of the API.
func TestRunUsage(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	if code := Run(t.Context(), nil, []string{"create"}, &out, &errOut); code != 1 || out.Len() > 0 || !strings.HasPrefix(errOut.String(), "minikcm-certgen: create: ") {
		t.Errorf("%d: %s%s", code, out.String(), errOut.String())
	}
}
