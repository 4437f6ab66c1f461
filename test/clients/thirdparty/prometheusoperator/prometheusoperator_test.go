// Package prometheusoperator tests prometheus-operator.
package prometheusoperator

import (
	"path/filepath"
	"strings"
	"testing"

	"minikcm.dev/minikcm/client"
	"minikcm.dev/minikcm/test/clients/thirdparty"
)

const monitoring = `
apiVersion: v1
kind: ServiceAccount
metadata: {name: prometheus, namespace: default}
---
apiVersion: monitoring.coreos.com/v1
kind: Prometheus
metadata: {name: main, namespace: default}
spec:
  replicas: 2
  shards: 2
  serviceAccountName: prometheus
  serviceMonitorSelector: {}
  ruleSelector: {}
  storage: {volumeClaimTemplate: {spec: {resources: {requests: {storage: 1Gi}}}}}
---
apiVersion: monitoring.coreos.com/v1
kind: Alertmanager
metadata: {name: main, namespace: default}
spec: {replicas: 3}
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: rules, namespace: default}
spec:
  groups:
  - name: web
    rules: [{alert: Down, expr: up == 0, for: 5m}]
`

// TestPrometheusOperator applies the project's bundle, and runs the operator in place of its pod.
func TestPrometheusOperator(t *testing.T) {
	c := thirdparty.Start(t, client.Nodes(3))
	source := thirdparty.Source(t, "github.com/prometheus-operator/prometheus-operator")
	c.Kubectl("apply", "--server-side", "-f", filepath.Join(source, "bundle.yaml"))
	c.InPlaceOf("default", "prometheus-operator", thirdparty.Build(t, "github.com/prometheus-operator/prometheus-operator/cmd/operator"),
		"--kubelet-service=kube-system/kubelet", "--watch-referenced-objects-in-all-namespaces=true", "--disable-unmanaged-prometheus-configuration=true", "--kubelet-endpoints=true", "--kubelet-endpointslice=false")

	c.Apply(monitoring)
	c.Kubectl("wait", "--for=condition=Available", "prometheus/main", "alertmanager/main", "--timeout=3m")
	c.Kubectl("wait", "--for=condition=Reconciled", "prometheus/main", "alertmanager/main", "--timeout=1m")
	ready := c.Kubectl("get", "statefulsets", "-o", "jsonpath={range .items[*]}{.metadata.name}={.status.readyReplicas} {end}")
	if ready != "alertmanager-main=3 prometheus-main=2 prometheus-main-shard-1=2 " {
		t.Errorf("the StatefulSets are %q", ready)
	}
	if rules := c.Kubectl("get", "configmap/prometheus-main-rulefiles-0", "-o", "jsonpath={.data}"); !strings.Contains(rules, "alert: Down") {
		t.Errorf("the rules are %s", rules)
	}
	if nodes := c.Kubectl("get", "endpointslices", "-n", "kube-system", "-l", "kubernetes.io/service-name=kubelet", "-o", "jsonpath={.items[*].endpoints[*].targetRef.name}"); len(strings.Fields(nodes)) != 3 {
		t.Errorf("the endpoints of kubelets are those of the nodes %q", nodes)
	}
	c.Kubectl("scale", "prometheus/main", "--replicas=1")
	c.Kubectl("wait", "--for=delete", "statefulset/prometheus-main-shard-1", "--timeout=1m")
}
