package scenarios

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// policyWebhook is a webhook for pods whose simulated pods allow everything.
const policyWebhook = `
    - apply: {objects: [{apiVersion: v1, kind: Namespace, metadata: {name: policy}}]}
    - sleep: 1s
    - apply:
        objects:
          - apiVersion: v1
            kind: Pod
            metadata: {name: policy, namespace: policy, labels: {app: policy}, annotations: {minikcm.dev/http: "443 /* allow"}}
            spec: {containers: [{name: policy, image: policy, ports: [{containerPort: 443}]}]}
          - {apiVersion: v1, kind: Service, metadata: {name: policy, namespace: policy}, spec: {selector: {app: policy}, ports: [{port: 443}]}}
    - wait: {target: pod/policy, namespace: policy, for: condition=Ready}
    - apply:
        objects:
          - apiVersion: admissionregistration.k8s.io/v1
            kind: ValidatingWebhookConfiguration
            metadata: {name: policy}
            webhooks:
              - name: pods.policy.example.com
                admissionReviewVersions: [v1]
                sideEffects: None
                timeoutSeconds: 5
                rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [pods]}]
                clientConfig: {service: {namespace: policy, name: policy, path: /validate}}
    - sleep: 2s`

// A webhook fault makes a webhook that answers fail in its way, until it is over, and the refusals
// are recorded with its words.
func TestWebhookFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault, want string
		after       time.Duration // until the pods are there
	}{
		"none":              {"names: [other], action: down", "", 0},
		"down":              {"action: down, names: [policy]", "connection refused", time.Minute},
		"slow":              {"action: slow, delay: 3s, names: [pods.policy.example.com]", "", 3 * time.Second},
		"too slow":          {"action: slow, delay: 20s", "context deadline exceeded", time.Minute},
		"denies":            {"action: deny, message: not today", `admission webhook "pods.policy.example.com" denied the request: not today`, time.Minute},
		"wrong certificate": {"action: wrongCertificate", "certificate signed by unknown authority", time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, header+"\n  cluster: {nodes: 3}\n  steps:"+policyWebhook+`
    - {background: true, fault: {webhooks: {`+test.fault+`}, for: 1m}}
    - remember: {values: {begin: now}}`+web("image: nginx")+`
    - wait: {target: pods, selector: app=web, for: count=3, within: 3m}
    - expect: {cel: ["now - remembered.begin >= duration('`+test.after.String()+`')"]}
    - wait: {target: deployment/web, for: condition=Available, within: 3m}
`, Options{})
			if result.Failure != nil {
				t.Fatal(tr)
			}
			var messages []string
			for _, r := range result.Run.Refusals {
				messages = append(messages, r.Sentence()+": "+r.Message)
			}
			named := slices.ContainsFunc(messages, func(m string) bool {
				return strings.Contains(m, test.want) && strings.Contains(m, "by webhook policy (pods.policy.example.com)")
			})
			if named != (test.want != "") {
				t.Errorf("refused were %q", messages)
			}
		})
	}
}

// A fault with a deadline fails when it is not over by then.
func TestFaultWithin(t *testing.T) {
	t.Parallel()
	for fault, fails := range map[string]string{
		"{nodes: {action: drain, names: [node-0]}, within: 5m}":                                     "",
		"{etcd: {action: slow, delay: 1s}, schedule: '*/4 * * * *', for: 1m, times: 2, within: 5m}": "within",
		"{apiserver: {action: restart}, within: 5m}":                                                "",
		"{etcd: {action: slow, delay: 1s}, for: 1m, within: 5m}":                                    "",
		"{nodes: {action: crash, names: [node-0]}, for: 1m, times: 10, every: 10m, within: 15m}":    "within",
	} {
		result, tr := runScenario(t, header+"\n  timeout: 5h\n  cluster: {nodes: 1}\n  steps:\n    - fault: "+fault+"\n", Options{})
		if (result.Failure == nil) != (fails == "") || fails != "" && !strings.Contains(result.Failure.Error(), fails) {
			t.Errorf("%s: %s", fault, tr)
		}
	}
}

// Programs make a run irreproducible, and a kubectl that does not wait for the cluster does not: the
// clock stands still for it.
func TestReproducible(t *testing.T) {
	t.Parallel()
	for step, reproducible := range map[string]bool{
		"sleep: 1m":                          true,
		"kubectl: {args: [get, pods]}":       true,
		"script: {run: 'true'}":              false,
		"script: {run: 'true', speed: 1000}": false,
	} {
		result, tr := runScenario(t, header+"\n  cluster: {nodes: 0}\n  steps:\n    - "+step+"\n", Options{Kubectl: []string{"echo"}})
		if result.Failure != nil {
			t.Fatal(tr)
		}
		if got := result.Run.ReproducibleText() == ""; got != reproducible {
			t.Errorf("%s: %q", step, result.Run.ReproducibleText())
		}
		if strings.HasPrefix(step, "kubectl") && result.Cluster != 0 {
			t.Errorf("%s took %v", step, result.Cluster)
		}
	}
}

// A scenario that expects a failure passes with it, and fails if it passes or fails otherwise.
func TestExpectedFailure(t *testing.T) {
	t.Parallel()
	const steps = "\n  cluster: {nodes: 0}\n  steps:\n    - expect: {counts: [{target: configmaps, selector: a=b, equals: 1}]}\n"
	for fails, want := range map[string]string{
		"expected 1 configmap": "",
		"something else":       "failed otherwise",
	} {
		result, tr := runScenario(t, header+"\n  fails: "+fails+steps, Options{})
		if (result.Failure == nil) != (want == "") || want != "" && !strings.Contains(result.Failure.Error(), want) || (result.Expected != nil) != (want == "") {
			t.Errorf("%s: %s", fails, tr)
		}
	}
	result, tr := runScenario(t, header+"\n  fails: anything\n  cluster: {nodes: 0}\n  steps: [{sleep: 1s}]\n", Options{})
	if result.Failure == nil || !strings.Contains(result.Failure.Error(), "and passed") {
		t.Error(tr)
	}
}
