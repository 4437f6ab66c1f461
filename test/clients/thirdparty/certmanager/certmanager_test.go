// Package certmanager tests cert-manager with its webhook and the injector of its authority.
package certmanager

import (
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/client"
	"minikcm.dev/minikcm/test/clients/thirdparty"
)

const namespace = "cert-manager"

// An authority that signs itself, an issuer with it, and a certificate of that issuer.
const certificates = `
apiVersion: cert-manager.io/v1
kind: ClusterIssuer
metadata: {name: self-signed}
spec: {selfSigned: {}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: authority, namespace: default}
spec:
  isCA: true
  commonName: authority
  secretName: authority
  privateKey: {algorithm: ECDSA, size: 256}
  issuerRef: {name: self-signed, kind: ClusterIssuer}
---
apiVersion: cert-manager.io/v1
kind: Issuer
metadata: {name: authority, namespace: default}
spec: {ca: {secretName: authority}}
---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: web, namespace: default}
spec:
  dnsNames: [web.default.svc]
  secretName: web
  privateKey: {algorithm: ECDSA}
  issuerRef: {name: authority}
`

const badUsage = `
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: nameless, namespace: default}
spec:
  secretName: nameless
  issuerRef: {name: authority}
`

// TestCertManager installs the chart with its default values and its CustomResourceDefinitions,
// and runs each of the three programs in place of the pod of its Deployment.
func TestCertManager(t *testing.T) {
	c := thirdparty.Start(t, client.Nodes(2))
	chart := filepath.Join(thirdparty.Source(t, "github.com/cert-manager/cert-manager"), "deploy/charts/cert-manager")
	c.Helm("install", "cert-manager", chart, "-n", namespace, "--create-namespace", "--set", "crds.enabled=true")
	program := thirdparty.Build(t, "./program")
	for deployment, role := range map[string]string{"cert-manager": "controller", "cert-manager-cainjector": "cainjector", "cert-manager-webhook": "webhook"} {
		c.InPlaceOf(namespace, deployment, program, role)
	}
	c.Kubectl("wait", "-n", namespace, "--for=condition=Available", "deployments", "--all", "--timeout=2m")
	c.Kubectl("wait", "--for=jsonpath={.webhooks[0].clientConfig.caBundle}", "validatingwebhookconfiguration/cert-manager-webhook", "mutatingwebhookconfiguration/cert-manager-webhook", "--timeout=1m")

	c.Refused(badUsage, "at least one of commonName")
	c.Apply(certificates)
	c.Kubectl("wait", "--for=condition=Ready", "issuer/authority", "certificate/web", "certificate/authority", "--timeout=1m")
	if kind := c.Kubectl("get", "secret/web", "-o", "jsonpath={.type}"); kind != "kubernetes.io/tls" {
		t.Errorf("the certificate's Secret has the type %q", kind)
	}
	// The webhook records who asked for a certificate, and controllers may not change that.
	if user := c.Kubectl("get", "certificaterequest/web-1", "-o", "jsonpath={.spec.username}"); user != "system:serviceaccount:cert-manager:cert-manager" {
		t.Errorf("the request is of %q", user)
	}
	if events := c.Kubectl("events", "--for", "certificate/web"); !strings.Contains(events, "The certificate has been successfully issued") {
		t.Errorf("the events are\n%s", events)
	}
	c.Kubectl("delete", "secret/web")
	c.Kubectl("wait", "--for=create", "secret/web", "--timeout=1m")
}
