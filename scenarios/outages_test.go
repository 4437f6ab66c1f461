package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

const (
	threeReady = `{target: nodes, where: {status: {conditions: [{type: Ready, status: "True"}]}}, equals: 3}`
	noneReady  = `{target: nodes, where: {status: {conditions: [{type: Ready, status: "True"}]}}, equals: 0}`
)

// Heartbeats fail when the API server or etcd is slower than the timeout of kubelets, 10 s, and are
// only late when it is faster.
func TestSlowerThanHeartbeats(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault string
		ready string
	}{
		"etcd below the timeout": {"etcd: {action: slow, delay: 8s, operations: [writes]}", threeReady},
		"etcd above it":          {"etcd: {action: slow, delay: 12s, operations: [writes]}", noneReady},
		"leases in etcd":         {"etcd: {action: slow, delay: 12s, prefix: /registry/leases/}", noneReady},
		"API server below it":    {"apiserver: {action: latency, delay: 8s}", threeReady},
		"API server above it":    {"apiserver: {action: latency, delay: 12s, users: ['system:node:node-0', 'system:node:node-1', 'system:node:node-2']}", noneReady},
		// The status has a request of its own, which leases do not wait for.
		"status alone": {"apiserver: {action: latency, delay: 30s, resources: [nodes/status]}", threeReady},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, header+`
  cluster: {nodes: 3}
  timeout: 1h
  steps:
    - {background: true, fault: {`+test.fault+`, for: 5m}}
    - sleep: 4m
    - expect: {counts: [`+test.ready+`]}
    - name: afterwards
      expect: {within: 5m, counts: [`+threeReady+`]}
`, Options{})
			if result.Failure != nil {
				t.Error(tr)
			}
		})
	}
}

// The controllers and the scheduler lose their leases when a request for a lease takes longer than 5 s, and
// new processes lead afterwards.
func TestLeadersChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault       string
		transitions int
	}{
		"etcd below the timeout":        {"etcd: {action: slow, delay: 4s, operations: [writes]}", 0},
		"etcd above it":                 {"etcd: {action: slow, delay: 6s, operations: [writes]}", 1},
		"refused":                       {"apiserver: {action: error, code: 503, resources: [leases], verbs: [update]}", 1},
		"API server of the controllers": {"apiserver: {action: latency, delay: 6s, users: ['system:kube-controller-manager', 'system:kube-scheduler']}", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lease := func(name string) string {
				return fmt.Sprintf(`{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {name: %s, namespace: kube-system}, spec: {leaseTransitions: %d}}`, name, test.transitions)
			}
			result, tr := runScenario(t, header+`
  cluster: {nodes: 3, leaderElection: true}
  timeout: 1h
  steps:
    - fault: {`+test.fault+`, for: 3m}
    - sleep: 2m
    - expect: {objects: [`+lease("kube-controller-manager")+`, `+lease("kube-scheduler")+`]}`+web("image: nginx")+`
    - wait: {target: deployment/web, for: rollout, within: 1m}
`, Options{})
			if result.Failure != nil {
				t.Error(tr)
			}
		})
	}
}

// A request ends after a minute, whatever it waits for.
func TestRequestsEnd(t *testing.T) {
	t.Parallel()
	result, tr := runScenario(t, header+`
  timeout: 1h
  steps:
    - {background: true, fault: {etcd: {action: slow, delay: 10m, operations: [writes]}}}
    - sleep: 1s
    - apply: {objects: [{apiVersion: v1, kind: ConfigMap, metadata: {name: late, namespace: default}}], fails: request did not complete within}
`, Options{})
	if result.Failure != nil || result.Cluster < time.Minute || result.Cluster > 2*time.Minute {
		t.Errorf("after %v: %s", result.Cluster, tr)
	}
}

// A run that ends while requests wait for a fault does not wait for them.
func TestEndOfSlowness(t *testing.T) {
	t.Parallel()
	for _, fault := range []string{"etcd: {action: slow, delay: 30s}", "apiserver: {action: latency, delay: 30s}"} {
		result, tr := runScenario(t, header+`
  steps:
    - {background: true, fault: {`+fault+`, for: 20m}}
    - sleep: 1m
`, Options{})
		if result.Failure != nil || result.Cluster != time.Minute {
			t.Errorf("%s: after %v: %s", fault, result.Cluster, tr)
		}
		if limit := 30 * time.Second; result.Real > limit { // it was a minute
			t.Errorf("%s: it took %v", fault, result.Real)
		}
	}
}

// Explanations name what refused the requests that an object depends on.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ steps, kind, namespace, object, want string }{
		"heartbeats by a webhook": {`
    - apply:
        objects:
          - apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingWebhookConfiguration
            metadata: {name: opa}
            webhooks:
              - name: validating-webhook.openpolicyagent.org
                admissionReviewVersions: [v1]
                sideEffects: None
                rules: [{operations: [CREATE, UPDATE], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"]}]
                clientConfig: {service: {namespace: opa, name: opa}}
    - sleep: 2m
    - expect: {counts: [` + threeReady + `]}`, "node", "", "node-1", "heartbeats of node-1 were refused by webhook opa (validating-webhook.openpolicyagent.org)"},
		"pods by a quota": {`
    - apply: {objects: [{apiVersion: v1, kind: ResourceQuota, metadata: {name: compute, namespace: default}, spec: {hard: {pods: "0"}}}]}` + web("image: nginx") + `
    - expect: {within: 1m, counts: [` + ready + `]}`, "deployment", "default", "web", ""},
		"heartbeats by etcd": {`
    - {background: true, fault: {etcd: {action: unavailable, prefix: /registry/leases/}}}
    - sleep: 3m
    - expect: {counts: [` + threeReady + `]}`, "node", "", "node-1", "heartbeats of node-1 were refused by etcd"},
		"heartbeats by their timeout": {`
    - {background: true, fault: {etcd: {action: slow, delay: 12s, operations: [writes]}}}
    - sleep: 3m
    - expect: {counts: [` + threeReady + `]}`, "node", "", "node-1", "heartbeats of node-1 ended by time-out"},
		"heartbeats by a fault": {`
    - {background: true, fault: {apiserver: {action: error, code: 503, resources: [leases], users: ['system:node:node-1']}}}
    - sleep: 3m
    - expect: {counts: [` + threeReady + `]}`, "node", "", "node-1", "heartbeats of node-1 were refused by a fault"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, header+"\n  cluster: {nodes: 3}\n  timeout: 1h\n  steps:"+test.steps+"\n", Options{})
			if result.Failure == nil {
				t.Fatalf("it passes:\n%s", tr)
			}
			if !strings.Contains(result.Failure.Error(), test.want) {
				t.Errorf("the failure does not say %q:\n%v", test.want, result.Failure)
			}
			explained, err := result.Run.Why(test.kind, test.namespace, test.object)
			if err != nil {
				t.Fatal(err)
			}
			if len(explained.Refused) == 0 && test.want != "" {
				t.Errorf("why does not name the refused requests: %+v", result.Run.Refusals)
			}
		})
	}
}
