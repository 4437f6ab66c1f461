package fault

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// examples have a valid fault for each action.
var examples = map[string]string{
	"pods kill":      "{pods: {action: kill, namespaces: ['*'], percent: 30, grace: 0s}, every: 10s, jitter: 20, times: 6}",
	"pods crash":     "{pods: {action: crash, names: [a], container: c, exitCode: 0}}",
	"pods oom":       "{pods: {action: oom, selector: app=web}, schedule: '* * * * *', during: 1h}",
	"pods notReady":  "{pods: {action: notReady, annotations: a=b, message: m}}",
	"pods imageGone": "{pods: {action: imageGone, phases: [Running], nodes: [n], nodeSelector: a=b}, for: 1h30m}",
	"pods evict":     "{pods: {action: evict, fieldSelector: spec.nodeName=n, maxPercent: 50}}",

	"nodes crash":     "{nodes: {action: crash, names: [node-1]}, for: 5m}",
	"nodes partition": "{nodes: {action: partition, count: 2}}",
	"nodes hang":      "{nodes: {action: hang, all: true}}",
	"nodes slow":      "{nodes: {action: slow, delay: 5s}}",
	"nodes stopProxy": "{nodes: {action: stopProxy, all: true}, for: 1m}",
	"nodes pressure":  "{nodes: {action: pressure}}",
	"nodes cordon":    "{nodes: {action: cordon, selector: a=b}}",
	"nodes drain":     "{nodes: {action: drain}}",
	"nodes taint":     "{nodes: {action: taint, taint: 'a=b:NoSchedule'}}",
	"nodes delete":    "{nodes: {action: delete}}",

	"nodes stopInstance":   "{nodes: {action: stopInstance, names: [node-1]}, for: 5m}",
	"nodes deleteInstance": "{nodes: {action: deleteInstance}}",

	"network partition": "{network: {action: partition, from: [app=web, deploy/web], to: [svc/db, zone/a, 10.0.0.0/8], direction: to}, for: 1m}",
	"network delay":     "{network: {action: delay, from: [node/node-1], delay: 100ms, spread: 50ms, namespace: shop, toNamespace: more}}",
	"network loss":      "{network: {action: loss, to: [outside], percent: 30}}",
	"network corrupt":   "{network: {action: corrupt, percent: 1}}",
	"network bandwidth": "{network: {action: bandwidth, rate: 1mbit}}",
	"network reset":     "{network: {action: reset, from: ['*'], percent: 50}}",

	"dns servfail": "{dns: {action: servfail, hosts: ['*.example.com'], from: [app=web]}}",
	"dns nxdomain": "{dns: {action: nxdomain, percent: 50}, for: 1m}",
	"dns timeout":  "{dns: {action: timeout, namespace: shop}}",
	"dns wrong":    "{dns: {action: wrong, address: 10.0.0.1}}",

	"http abort":   "{http: {action: abort, to: [svc/web], percent: 10}}",
	"http delay":   "{http: {action: delay, delay: 2s, methods: [get], path: /api/*}}",
	"http replace": "{http: {action: replace, code: 503, body: down}}",
	"http patch":   "{http: {action: patch, port: 80, requestHeaders: [x-user=ann], query: [a=b], requestPatch: '[{\"op\": \"remove\", \"path\": \"/a\"}]', headers: [x-by=fault], answerPatch: '{\"price\": 0}'}}",

	"apiserver latency":         "{apiserver: {action: latency, delay: 1s, spread: 2s, verbs: [get], userAgents: [kubectl]}}",
	"apiserver error":           "{apiserver: {action: error, resources: [pods/status], namespaces: [a], users: [u]}}",
	"apiserver conflicts":       "{apiserver: {action: conflicts, percent: 70}, for: 2m}",
	"apiserver tooManyRequests": "{apiserver: {action: tooManyRequests, message: m}}",
	"apiserver dropWatches":     "{apiserver: {action: dropWatches}}",
	"apiserver stale":           "{apiserver: {action: stale}}",
	"apiserver compact":         "{apiserver: {action: compact}}",
	"apiserver restart":         "{apiserver: {action: restart}}",

	"etcd slow":        "{etcd: {action: slow, delay: 1s, operations: [reads], prefix: /registry/pods/}}",
	"etcd unavailable": "{etcd: {action: unavailable, percent: 50}}",
	"etcd noSpace":     "{etcd: {action: noSpace}}",
	"etcd leaderLoss":  "{etcd: {action: leaderLoss, delay: 5s}}",

	"webhooks down":             "{webhooks: {action: down, names: [policy]}}",
	"webhooks slow":             "{webhooks: {action: slow, delay: 5s, percent: 50}}",
	"webhooks deny":             "{webhooks: {action: deny, code: 429, message: later}}",
	"webhooks wrongCertificate": "{webhooks: {action: wrongCertificate}}",

	"controllers crash":      "{controllers: {action: crash, names: [deployment-controller]}, for: 1m}",
	"controllers pause":      "{controllers: {action: pause}}",
	"controllers slow":       "{controllers: {action: slow, delay: 1s}}",
	"controllers duplicate":  "{controllers: {action: duplicate}}",
	"controllers loseEvents": "{controllers: {action: loseEvents, lost: 50}}",

	"clock jump": "{clock: {action: jump, by: -30s}}",
	"clock skew": "{clock: {action: skew, by: 1m, nodes: [node-0], controllers: [cronjob-controller]}}",
}

// A fault that was read can be written down and read again: checks and defaults do not
// change what it says.
func TestFaultsAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for _, part := range Parts() {
		for _, action := range part.Actions {
			text := examples[part.Name+" "+action.Name]
			if text == "" {
				t.Errorf("%s %s has no example", part.Name, action.Name)
				continue
			}
			first := marshal(t, read(t, text))
			if second := marshal(t, read(t, first)); first != second {
				t.Errorf("%s is written\n%s and, when that is read,\n%s", text, first, second)
			}
		}
	}
}

func marshal(t *testing.T, f *Fault) string {
	t.Helper()
	data, err := yaml.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// The fields that the rows of the table name are fields of their parts, and every field
// belongs to an action.
func TestActionsNameFields(t *testing.T) {
	t.Parallel()
	for _, part := range Parts() {
		var fields []string
		for _, f := range fieldsOf(part.is) {
			fields = append(fields, f.Name)
		}
		for _, action := range part.Actions {
			for _, name := range action.Fields {
				if !slices.Contains(fields, name) {
					t.Errorf("%s %s has no field %s", part.Name, action.Name, name)
				}
			}
			if action.Does == "" {
				t.Errorf("nothing says what %s %s does", part.Name, action.Name)
			}
		}
	}
}

// docs/faults.md has every action, with whether it lasts and whether the API is enough.
func TestDocumentedActions(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("../../docs/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][]string{} // by part and action, the columns "lasts" and "K"
	part := ""
	for line := range strings.Lines(string(data)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 5 {
			continue
		}
		if name := strings.Trim(cells[0], " `"); name != "" {
			part = name
		}
		for action := range strings.SplitSeq(cells[1], ",") {
			rows[part+" "+strings.Trim(action, " `")] = []string{strings.TrimSpace(cells[3]), strings.TrimSpace(cells[4])}
		}
	}
	for _, part := range Parts() {
		for _, action := range part.Actions {
			lasts := map[Lasting]string{Momentary: "", LastingIfFor: "with `for`", LastingAlways: "yes"}[action.Lasts]
			byAPI := map[bool]string{true: "yes"}[action.ByAPI]
			name := part.Name + " " + action.Name
			if got, want := fmt.Sprint(rows[name]), fmt.Sprint([]string{lasts, byAPI}); got != want {
				t.Errorf("%s is documented as %s, want %s", name, got, want)
			}
		}
	}
}
