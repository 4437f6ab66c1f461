package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"minikcm.dev/minikcm/internal/traffic"
)

// shop is a Deployment with a Service, and a pod that sends. Its rules of Services follow once a second.
func shop(lines, container string) string {
	return header + `
  cluster: {nodes: 3, serviceSync: 1s}
  steps:
    - apply:
        objects:
          - {apiVersion: v1, kind: Pod, metadata: {name: client, namespace: default, labels: {app: client}}, spec: {nodeName: node-0, containers: [{name: c, image: busybox, command: [sleep, infinity]}]}}
          - {apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {selector: {app: web}, ports: [{port: 80}]}}
          - apiVersion: apps/v1
            kind: Deployment
            metadata: {name: web, namespace: default}
            spec:
              replicas: 2
              selector: {matchLabels: {app: web}}
              template:
                metadata: {labels: {app: web}, annotations: {minikcm.dev/traffic: "service 200ms` + lines + `"}}
                spec: {containers: [{name: web, image: nginx, ports: [{containerPort: 80}]` + container + `}]}
    - wait: {target: deployment/web, for: rollout}
    - wait: {target: pod/client, for: condition=Ready}`
}

// causes are the failed requests of a route by cause.
func causes(r *Result) map[traffic.Cause]int64 {
	all := map[traffic.Cause]int64{}
	for _, f := range r.Run.Traffic[0].Failures {
		all[f.Cause] += f.Requests
	}
	return all
}

// Requests fail for the causes that the cluster gives them, and for no others.
func TestTraffic(t *testing.T) {
	t.Parallel()
	const late = "\n    - fault: {controllers: {action: slow, names: [endpointslice-controller], delay: 500ms}}"
	const send = "\n    - traffic: {from: pod/client, to: web, rate: 100, even: true, client: {timeout: 1s}"
	const kill = "\n    - delete: {target: pods, selector: app=web}\n    - sleep: 10s"
	for name, test := range map[string]struct {
		text string
		want map[traffic.Cause][2]int64 // from, to
	}{
		"nothing happens": {shop("", "") + send + "}\n    - sleep: 10s", nil},
		"pods end at once, and their successors are known later": {
			shop("", "") + late + send + "}\n    - sleep: 2s" + kill,
			map[traffic.Cause][2]int64{traffic.Reset: {5, 25}, traffic.NoRoute: {20, 150}},
		},
		"they finish what they have": {
			shop(`\nsigterm finish`, "") + late + send + "}\n    - sleep: 2s" + kill,
			map[traffic.Cause][2]int64{traffic.Refused: {1, 20}, traffic.NoRoute: {20, 150}},
		},
		"they wait in a hook": {shop("", ", lifecycle: {preStop: {sleep: {seconds: 5}}}") + late + send + "}\n    - sleep: 2s" + kill, nil},
		"they finish what they have after a hook": {
			shop(`\nsigterm finish`, ", lifecycle: {preStop: {sleep: {seconds: 5}}}") + late + send + "}\n    - sleep: 2s" + kill, nil,
		},
		"a policy denies it": {
			shop("", "") + send + `}
    - sleep: 5s
    - apply: {objects: [{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: deny, namespace: default}, spec: {podSelector: {matchLabels: {app: web}}}}]}
    - sleep: 5s`,
			map[traffic.Cause][2]int64{traffic.Denied: {395, 405}},
		},
		"no endpoint":  {shop("", "") + send + "}\n    - sleep: 5s\n    - scale: {target: deployment/web, replicas: 0}\n    - sleep: 5s", map[traffic.Cause][2]int64{traffic.NoEndpoint: {395, 405}, traffic.NoRoute: {80, 100}, traffic.Reset: {5, 25}}},
		"no such name": {shop("", "") + "\n    - traffic: {from: pod/client, to: other, rate: 10, even: true}\n    - sleep: 10s", map[traffic.Cause][2]int64{traffic.Unresolved: {99, 101}}},
		"no source":    {shop("", "") + "\n    - traffic: {from: deploy/other, to: web, rate: 10, even: true}\n    - sleep: 10s", nil},
		"a node is down": {
			shop("", "") + send + "}\n    - sleep: 5s\n    - fault: {nodes: {action: crash, names: [node-1, node-2]}}\n    - sleep: 10s",
			map[traffic.Cause][2]int64{traffic.TimedOut: {1, 25}, traffic.Lost: {400, 1000}},
		},
		"flow": {
			shop("", "") + late + strings.Replace(send, "even: true", "mode: flow", 1) + "}\n    - sleep: 2s" + kill,
			map[traffic.Cause][2]int64{traffic.Reset: {5, 25}, traffic.NoRoute: {20, 150}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, tr := runScenario(t, test.text, Options{})
			if result.Failure != nil {
				t.Fatalf("%v\n%s", result.Failure, tr)
			}
			got := causes(result)
			for cause, n := range got {
				if limits := test.want[cause]; n < limits[0] || n > limits[1] {
					t.Errorf("%d %s, not %d to %d\n%s", n, cause, limits[0], limits[1], tr)
				}
			}
			for cause := range test.want {
				if got[cause] == 0 {
					t.Errorf("none is: %s\n%s", cause, tr)
				}
			}
		})
	}
}

// A client whose node is down sends nothing. What cannot be meant is a warning: a source or a target that never was, and an annotation
// that is not valid.
func TestTrafficThatIsNotSent(t *testing.T) {
	t.Parallel()
	result, tr := runScenario(t, shop(`\nworkers many`, "")+`
    - traffic: {from: pod/client, to: web, rate: 100, even: true}
    - traffic: {from: pod/client, to: web, rate: 100, even: true, mode: flow}
    - traffic: {from: deploy/other, to: web, rate: 100}
    - traffic: {from: outside, to: svc/other, rate: 1}
    - sleep: 5s
    - fault: {nodes: {action: crash, names: [node-0]}}
    - sleep: 10s
`, Options{})
	if result.Failure != nil {
		t.Fatalf("%v\n%s", result.Failure, tr)
	}
	all := result.Run.Traffic
	for _, sent := range all[:2] {
		if sent.Requests < 495 || sent.Requests > 501 || sent.Failed > 0 {
			t.Errorf("%d requests were sent in 5 s of 100, and %d failed", sent.Requests, sent.Failed)
		}
		if len(sent.Warnings) != 2 || !strings.Contains(sent.Warnings[0], "pod default/web-") || !strings.Contains(sent.Warnings[0], `workers: "many" is not a number`) {
			t.Errorf("warnings: %q", sent.Warnings)
		}
	}
	if all[2].Requests != 0 || len(all[2].Warnings) != 1 || !strings.Contains(all[2].Warnings[0], "deploy/other") {
		t.Errorf("without a source: %+v", all[2])
	}
	if all[3].Failed == 0 || len(all[3].Warnings) != 1 || !strings.Contains(all[3].Warnings[0], "service default/other not found") {
		t.Errorf("without a target: %+v", all[3])
	}
}

// An objective that is not met fails the run, with a check of its own. Equal seeds give equal figures.
func TestTrafficObjectives(t *testing.T) {
	t.Parallel()
	text := shop("", "") + `
    - fault: {controllers: {action: slow, names: [endpointslice-controller], delay: 500ms}}
    - traffic: {name: orders, from: pod/client, to: svc/web, rate: 100, slo: {availability: 99.9%, p50: 300ms, p99: 100ms}}
    - sleep: 5s
    - delete: {target: pods, selector: app=web}
    - sleep: 5s
`
	first, tr := runScenario(t, text, Options{})
	for _, want := range []string{"objective of orders: availability 99.9%", "objective of orders: p99 100ms is not met: 20"} {
		if first.Failure == nil || !strings.Contains(first.Failure.Error(), want) {
			t.Errorf("%v lacks %q\n%s", first.Failure, want, tr)
		}
	}
	if len(first.Run.Failures) != 2 || first.Run.Failures[0].Span < 0 {
		t.Errorf("failures: %+v", first.Run.Failures)
	}
	objectives := first.Run.Traffic[0].Objectives
	if met := fmt.Sprint(objectives[0].Met, objectives[1].Met, objectives[2].Met); met != "false true false" {
		t.Errorf("met: %s", met)
	}
	because := first.Run.Traffic[0].Failures[0].Because
	if len(because) != 3 || because[0].Text != "it was deleted" {
		t.Errorf("why: %+v\n%s", because, tr)
	}
	second, _ := runScenario(t, text, Options{})
	if diff := cmp.Diff(first.Run.Traffic, second.Run.Traffic); diff != "" {
		t.Errorf("the second run differs:\n%s", diff)
	}
}

// A router chooses among its backend's endpoints.
func TestTrafficThroughIngress(t *testing.T) {
	t.Parallel()
	result, tr := runScenario(t, shop("", "")+`
    - apply:
        objects:
          - {apiVersion: networking.k8s.io/v1, kind: IngressClass, metadata: {name: simulated}, spec: {controller: minikcm.dev/simulated}}
          - apiVersion: networking.k8s.io/v1
            kind: Ingress
            metadata: {name: shop, namespace: default}
            spec: {ingressClassName: simulated, rules: [{host: shop.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
    - wait: {target: ingress/shop, for: "jsonpath={.status.loadBalancer.ingress[0].ip}"}
    - traffic: {from: outside, to: "http://shop.example/cart", rate: 100, even: true}
    - sleep: 5s
    - scale: {target: deployment/web, replicas: 0}
    - sleep: 5s
`, Options{})
	if result.Failure != nil {
		t.Fatalf("%v\n%s", result.Failure, tr)
	}
	if got := causes(result); got[traffic.RouterError] < 490 || got[traffic.RouterError] > 501 || got[traffic.NoEndpoint] != 0 {
		t.Errorf("causes: %v\n%s", got, tr)
	}
}

func TestTrafficRefused(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]string{
		"to: web, rate: 1":                                         "from: is missing",
		"from: ns/, to: web, rate: 1":                              "from",
		"from: outside, rate: 1":                                   "to: is missing",
		"from: outside, to: web":                                   "rate: is missing",
		"from: outside, to: bogus/web, rate: 1":                    "none of pod, deploy",
		"from: outside, to: ftp://web, rate: 1":                    "the scheme must be http or https",
		"from: outside, to: http://, rate: 1":                      "not a URL with a host",
		"from: outside, to: http://web:99999, rate: 1":             "port from 1 to 65535",
		"from: outside, to: web:99999, rate: 1":                    "port from 1 to 65535",
		"from: outside, to: svc/, rate: 1":                         "not svc/NAME",
		"from: outside, to: web, rate: 1000000000":                 "from 0 to 1,000,000",
		"from: outside, to: web, rate: -5":                         "from 0 to 1,000,000",
		"from: outside, to: web, rate: .inf":                       "from 0 to 1,000,000",
		"from: outside, to: web, rate: fast":                       "not a number of requests a second",
		"from: outside, to: web, rateFile: none.csv":               "rateFile",
		"from: outside, to: web, rate: 1, mode: quick":             "none of exact and flow",
		"from: outside, to: web, rate: 1, client: {retries: 99}":   "client.retries",
		"from: outside, to: web, rate: 1, client: {budget: half}":  "percentage",
		"from: outside, to: web, rate: 1, slo: {availability: 99}": "percentage",
	} {
		_, err := Parse("scenario.yaml", []byte(header+"  steps:\n    - traffic: {"+fields+"}\n"), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", fields, err)
		}
	}
	_, err := Parse("scenario.yaml", []byte(header+"  steps:\n    - sleep: 1s\n  finally:\n    - traffic: {from: outside, to: web, rate: 1}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "no place in finally") {
		t.Errorf("in finally: %v", err)
	}
}
