package minikcmtest

import (
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/internal/auth"
)

const (
	webhookHost = "127.0.0.1"
	// headerTimeout is how long a client of a webhook server may take to send its headers,
	// in machine time.
	headerTimeout = 30 * time.Second
)

// Webhooks is an address at which the cluster's webhooks are called, with a serving certificate
// for it. Pass Host, Port and CertDir to controller-runtime's webhook.NewServer, or call Serve.
type Webhooks struct {
	Host string
	Port int
	// CertDir is a folder with the files tls.crt and tls.key. It is removed with the test.
	CertDir string
	// CABundle verifies the certificate, in PEM.
	CABundle []byte
	cluster  *Cluster
	pair     tls.Certificate
}

// InstallWebhooks creates the MutatingWebhookConfigurations and ValidatingWebhookConfigurations
// in files and, recursively, in folders, such as config/webhook of a kubebuilder project. The
// Services that they refer to are replaced by an address of the test's process, as are the
// Services of conversion webhooks in the cluster's CustomResourceDefinitions: call CreateCRDs
// first. Objects of other kinds are skipped. Without paths, only conversion webhooks are installed.
//
// The API server calls the webhooks from now on. Until something listens at the address, their
// failure policies decide about requests.
func (c *Cluster) InstallWebhooks(paths ...string) *Webhooks {
	c.t.Helper()
	w, err := c.newWebhooks()
	if err == nil {
		err = w.install(paths)
	}
	if err != nil {
		c.t.Fatalf("installing webhooks: %v", err)
	}
	return w
}

// newWebhooks chooses a free port and writes the certificate.
func (c *Cluster) newWebhooks() (*Webhooks, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(webhookHost, "0"))
	if err != nil {
		return nil, err
	}
	_, text, err := net.SplitHostPort(listener.Addr().String())
	if err = errors.Join(err, listener.Close()); err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, err
	}
	authority, err := auth.NewAuthority("minikcmtest-webhooks", clock.Real().Now())
	if err != nil {
		return nil, err
	}
	pair, err := authority.Server(webhookHost)
	if err != nil {
		return nil, err
	}
	w := &Webhooks{Host: webhookHost, Port: port, CertDir: c.t.TempDir(), CABundle: authority.CertPEM(), cluster: c, pair: pair.TLS()}
	key, err := pair.KeyPEM()
	if err != nil {
		return nil, err
	}
	return w, errors.Join(os.WriteFile(filepath.Join(w.CertDir, "tls.crt"), pair.CertPEM(), 0o600), os.WriteFile(filepath.Join(w.CertDir, "tls.key"), key, 0o600))
}

// Serve serves the webhooks by a handler until the test ends.
func (w *Webhooks) Serve(handler http.Handler) {
	t := w.cluster.t
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(w.Host, strconv.Itoa(w.Port)))
	if err != nil {
		t.Fatalf("serving webhooks: %v", err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{w.pair}, MinVersion: tls.VersionTLS12}))
	}()
	t.Cleanup(func() {
		_ = server.Close() // the error of a connection that the API server has cut
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serving webhooks: %v", err)
		}
	})
}

func (w *Webhooks) install(paths []string) error {
	if err := w.installConversions(); err != nil || len(paths) == 0 {
		return err
	}
	found, err := manifests(paths, "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
	if err != nil {
		return err
	}
	for _, configuration := range found {
		hooks, _, err := unstructured.NestedSlice(configuration.Object, "webhooks")
		if err != nil {
			return fmt.Errorf("%s %s: %w", configuration.GetKind(), configuration.GetName(), err)
		}
		for _, hook := range hooks {
			if fields, ok := hook.(map[string]any); ok {
				w.lead(fields)
			}
		}
		configuration.Object["webhooks"] = hooks
	}
	return w.cluster.put(found, func(o *unstructured.Unstructured) schema.GroupVersionResource {
		return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: strings.ToLower(o.GetKind()) + "s"}
	})
}

// installConversions leads the conversion webhooks of all definitions to the address.
func (w *Webhooks) installConversions() error {
	client, err := dynamic.NewForConfig(w.cluster.Config())
	if err != nil {
		return err
	}
	ctx, resource := w.cluster.t.Context(), client.Resource(definitions)
	all, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing CustomResourceDefinitions: %w", err)
	}
	for i := range all.Items {
		definition := &all.Items[i]
		webhook, found, err := unstructured.NestedMap(definition.Object, "spec", "conversion", "webhook")
		if err != nil || !found {
			continue // it has another strategy
		}
		w.lead(webhook)
		if err := unstructured.SetNestedMap(definition.Object, webhook, "spec", "conversion", "webhook"); err != nil {
			return err
		}
		if _, err := resource.Update(ctx, definition, metav1.UpdateOptions{}); err != nil {
			return fmt.Errorf("CustomResourceDefinition %s: %w", definition.GetName(), err)
		}
	}
	return nil
}

// lead replaces the client configuration of a webhook, and keeps the path of its Service.
func (w *Webhooks) lead(webhook map[string]any) {
	path, _, _ := unstructured.NestedString(webhook, "clientConfig", "service", "path") // no Service: no path
	webhook["clientConfig"] = map[string]any{
		"url":      "https://" + net.JoinHostPort(w.Host, strconv.Itoa(w.Port)) + path,
		"caBundle": base64.StdEncoding.EncodeToString(w.CABundle),
	}
}
