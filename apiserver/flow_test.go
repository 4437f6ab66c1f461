package apiserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/metrics/legacyregistry"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/internal/auth"
)

// Requests have upstream's headers with their FlowSchema and priority level.
func TestRequestsAreClassified(t *testing.T) {
	h := start(t)
	names := map[string]string{"": ""}
	schemas, err := h.client().FlowcontrolV1().FlowSchemas().List(h.ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, schema := range schemas.Items {
		names[string(schema.UID)] = schema.Name
	}
	for _, test := range []struct {
		user   string
		groups []string
		path   string
		want   string
	}{
		{"admin", []string{auth.GroupMasters}, "/api/v1/pods", "exempt"},
		{"system:node:a", []string{"system:nodes"}, "/api/v1/nodes/a", "system-node-high"},
		{"system:node:a", []string{"system:nodes"}, "/api/v1/pods", "system-nodes"},
		{"system:serviceaccount:kube-system:x", []string{"system:serviceaccounts", "system:serviceaccounts:kube-system"}, "/api/v1/pods", "kube-system-service-accounts"},
		{"system:serviceaccount:default:x", []string{"system:serviceaccounts"}, "/api/v1/pods", "service-accounts"},
		{"system:kube-scheduler", nil, "/api/v1/pods", "kube-scheduler"},
		{"alice", nil, "/api/v1/pods", "global-default"},
	} {
		// The server reads its configuration after it has begun to listen.
		for got := "catch-all"; got != test.want; {
			got = names[h.flowHeader(test.path, test.user, test.groups)]
			if got != test.want && got != "catch-all" && got != "" || h.ctx.Err() != nil {
				t.Errorf("%s, %s: %q, want %q", test.user, test.path, got, test.want)
				break
			}
		}
	}
}

// flowHeader returns the UID of the FlowSchema of a request over HTTPS.
func (h *harness) flowHeader(path, user string, groups []string) string {
	h.t.Helper()
	resp := h.get(h.ctx, path, user, groups)
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		h.t.Fatal(err)
	}
	return resp.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)
}

// get makes a request over HTTPS that user makes, in groups.
func (h *harness) get(ctx context.Context, path, user string, groups []string) *http.Response {
	h.t.Helper()
	cfg := overHTTPS().config(h)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, auth.GroupAuthenticated)}
	client, err := rest.HTTPClientFor(cfg)
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, cfg.Host+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	return resp
}

// While the seats of a priority level are occupied, its requests wait in queues and the
// requests of other levels are served.
func TestRequestsWaitForSeats(t *testing.T) {
	const (
		requests = 40                    // seats of the server
		seats    = requests*2*20/265 + 1 // of the level, which has 20 of 265 shares
		clients  = 3 * seats
		list     = "/api/v1/configmaps"
	)
	h := start(t, func(o *apiserver.Options) { o.MaxReads, o.MaxWrites = requests, requests }, allowAll)
	floodRandom(t, h, 24)
	for level := h.createLevel("limited", "alice", 20); h.ctx.Err() == nil; { // until the server has read its configuration
		resp := h.get(h.ctx, list+"?limit=1", "alice", nil)
		_ = resp.Body.Close()
		if resp.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID) == level {
			break
		}
	}
	served := make(chan *http.Response, clients)
	for range clients {
		go func() { served <- h.get(h.ctx, list, "alice", nil) }() // their bodies are not read
	}
	stalled := []*http.Response{<-served}
	for range 5 { // other levels
		for user, group := range map[string]string{"admin": auth.GroupMasters, "system:serviceaccount:default:x": "system:serviceaccounts"} {
			resp := h.get(h.ctx, list+"?limit=1", user, []string{group})
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", user, resp.StatusCode)
			}
		}
	}
	for range len(served) {
		stalled = append(stalled, <-served)
	}
	ok := 0
	for _, resp := range stalled {
		if resp.StatusCode == http.StatusOK { // others waited for longer than the limit of a queue
			ok++
		}
	}
	if ok > seats {
		t.Errorf("%d lists are being served on %d seats", ok, seats)
	}
	for i := range clients {
		if i == len(stalled) {
			stalled = append(stalled, <-served)
		}
		resp := stalled[i]
		if resp.StatusCode != http.StatusOK && (resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "") {
			t.Errorf("list %d: %s", i, resp.Status)
		}
		_ = resp.Body.Close()
	}
}

// Watches do not occupy seats after their initial events.
func TestWatchesLeaveTheirSeats(t *testing.T) {
	h := start(t, func(o *apiserver.Options) { o.MaxReads, o.MaxWrites = 10, 10 }, allowAll) // two seats of global-default
	for range 50 {
		resp := h.get(h.ctx, "/api/v1/namespaces/default/configmaps?watch=true", "alice", nil)
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("a watch: %d", resp.StatusCode)
		}
	}
	resp := h.get(h.ctx, "/api/v1/namespaces/default/configmaps", "alice", nil)
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a list: %d", resp.StatusCode)
	}
}

// createLevel creates a priority level for the requests of user and returns its UID. It queues
// requests and borrows no seats: the seats of the levels in use are adjusted every ten seconds.
func (h *harness) createLevel(name, user string, shares int32) string {
	h.t.Helper()
	level, err := h.client().FlowcontrolV1().PriorityLevelConfigurations().Create(h.ctx, &flowcontrolv1.PriorityLevelConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: flowcontrolv1.PriorityLevelConfigurationSpec{
			Type: flowcontrolv1.PriorityLevelEnablementLimited,
			Limited: &flowcontrolv1.LimitedPriorityLevelConfiguration{
				NominalConcurrencyShares: &shares,
				BorrowingLimitPercent:    new(int32(0)),
				LimitResponse: flowcontrolv1.LimitResponse{
					Type:    flowcontrolv1.LimitResponseTypeQueue,
					Queuing: &flowcontrolv1.QueuingConfiguration{Queues: 1, HandSize: 1, QueueLengthLimit: 50},
				},
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	_, err = h.client().FlowcontrolV1().FlowSchemas().Create(h.ctx, &flowcontrolv1.FlowSchema{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: flowcontrolv1.FlowSchemaSpec{
			PriorityLevelConfiguration: flowcontrolv1.PriorityLevelConfigurationReference{Name: name},
			MatchingPrecedence:         100,
			Rules: []flowcontrolv1.PolicyRulesWithSubjects{{
				Subjects: []flowcontrolv1.Subject{{Kind: flowcontrolv1.SubjectKindUser, User: &flowcontrolv1.UserSubject{Name: user}}},
				ResourceRules: []flowcontrolv1.ResourcePolicyRule{{
					Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}, Namespaces: []string{"*"}, ClusterScope: true,
				}},
			}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return string(level.UID)
}

// The debugging endpoints and metrics of priority and fairness are upstream's.
func TestFlowIsReported(t *testing.T) {
	h := start(t, func(o *apiserver.Options) { o.Gatherer = legacyregistry.DefaultGatherer })
	read := func(path string) string {
		t.Helper()
		resp := h.get(h.ctx, path, "admin", []string{auth.GroupMasters})
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("GET %s: %d %v %s", path, resp.StatusCode, err, text)
		}
		return string(text)
	}
	const dumps = "/debug/api_priority_and_fairness/"
	levels := ""
	for !strings.Contains(levels, "workload-low") { // until the server has read its configuration
		if levels = read(dumps + "dump_priority_levels"); h.ctx.Err() != nil {
			t.Fatalf("priority levels: %s", levels)
		}
	}
	for path, want := range map[string]string{
		dumps + "dump_priority_levels":                  "PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests, DispatchedRequests, RejectedRequests, TimedoutRequests, CancelledRequests",
		dumps + "dump_queues":                           "PriorityLevelName, Index, PendingRequests, ExecutingRequests, SeatsInUse,",
		dumps + "dump_requests?includeRequestDetails=1": "PriorityLevelName, FlowSchemaName, QueueIndex, RequestIndexInQueue, FlowDistingsher,",
		"/metrics": `apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"}`,
	} {
		if text := strings.Join(strings.Fields(read(path)), " "); !strings.Contains(text, want) {
			t.Errorf("GET %s has no %q: %s", path, want, text)
		}
	}
	if code := h.get(h.ctx, dumps+"dump_queues", "alice", nil).StatusCode; code != http.StatusForbidden {
		t.Errorf("dump_queues for a user: %d", code)
	}
}
