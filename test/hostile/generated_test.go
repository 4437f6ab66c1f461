package hostile

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/test/binary"
)

var (
	seed   = flag.Uint64("seed", 1, "of the generated inputs")
	inputs = flag.Int("inputs", 20, "how many inputs of each kind are generated")
	only   = flag.String("input", "", "send only these inputs, as schema-3,cel-1")
)

const (
	// answerIn is the longest that a request may take, and the end of a script or webhook that
	// does not end may take after its time.
	answerIn = 20 * time.Second
	// scriptTime bounds the run of a script and the reading of a watch.
	scriptTime = time.Second
	// maxAnswer is more than any response to these requests needs.
	maxAnswer = 64 << 20
	senders   = 4
)

// sent is the outcome of one input.
type sent struct {
	name    string
	codes   []int // of the responses
	took    time.Duration
	problem error
}

// generated sends generated inputs to a process.
type generated struct {
	attacker *rest.Config
	client   kubernetes.Interface
	webhook  *answering
	log      func(format string, args ...any) // logs responses; nil if there are many
}

// TestGenerated sends inputs of all kinds that the grammar derives, while a well-behaved
// client works. Each gets a response in time that is no internal error; the process must
// not end, nor report a panic.
func TestGenerated(t *testing.T) {
	p := startProcess(t.Context(), t, binary.Path(t), memoryLimit)
	g := &generated{attacker: p.attacker(t.Context()), client: p.client, webhook: startAnswering(t)}
	if _, err := p.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "hostile"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitServiceAccount(t.Context(), t, p.client, "hostile")
	startShell(t.Context(), t, p.client, "hostile")
	client := newBehaved()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var working sync.WaitGroup
	working.Go(func() { client.work(ctx, p.client) })
	outcomes := g.sendAll(t)
	stop()
	working.Wait()
	report(t, outcomes)
	served, p99, rejected := client.report(t)
	t.Logf("%d inputs; %d requests of the well-behaved client served, p99 %v, %d rejected; at most %d MiB resident", len(outcomes), served, p99, rejected, p.peak()>>20)
	if *maxP99 > 0 && p99 > *maxP99 {
		t.Errorf("p99 is %v, more than %v", p99, *maxP99)
	}
	if peak := p.peak(); peak > maxResident {
		t.Errorf("%d MiB resident", peak>>20)
	}
}

// sendAll sends the inputs, several at a time and of different kinds.
func (g *generated) sendAll(t *testing.T) []sent {
	var mu sync.Mutex
	var all []sent
	parallel(senders, func(sender int) {
		for i := sender; i < *inputs*len(kindsOfInput); i += senders {
			kind, number := kindsOfInput[i%len(kindsOfInput)], i/len(kindsOfInput)
			name := fmt.Sprintf("%s-%d", kind, number)
			if *only != "" && !slices.Contains(strings.Split(*only, ","), name) {
				continue
			}
			elapsed := clock.Stopwatch()
			text := rules.derive(kind, *seed, i)
			if *only != "" {
				t.Logf("%s: %.4000q", name, text)
				g.log = t.Logf
			}
			codes, err := g.send(t.Context(), kind, text, i)
			mu.Lock()
			all = append(all, sent{name, codes, elapsed(), err})
			mu.Unlock()
		}
	})
	return all
}

func (g *generated) send(ctx context.Context, kind, text string, number int) (codes []int, err error) {
	switch kind {
	case "script":
		return nil, g.runScript(ctx, text)
	case "answer":
		return nil, g.answer(ctx, text, number)
	}
	for request := range strings.SplitSeq(text, requestEnd) {
		code, err := g.request(ctx, request)
		codes = append(codes, code)
		if err != nil {
			return codes, err
		}
	}
	return codes, nil
}

// report logs the codes of each kind and the slowest inputs, and fails for problems.
func report(t *testing.T, outcomes []sent) {
	t.Helper()
	codes := map[string]map[int]int{}
	for _, o := range outcomes {
		if o.problem != nil {
			t.Errorf("%s: %v (again: -args -seed %d -input %s)", o.name, o.problem, *seed, o.name)
		}
		kind, _, _ := strings.Cut(o.name, "-")
		if codes[kind] == nil {
			codes[kind] = map[int]int{}
		}
		for _, code := range o.codes {
			codes[kind][code]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(codes)) {
		t.Logf("%-9s %v", kind, codes[kind])
	}
	slices.SortFunc(outcomes, func(a, b sent) int { return cmp.Compare(b.took, a.took) })
	for _, o := range outcomes[:min(5, len(outcomes))] {
		t.Logf("%s took %v", o.name, o.took)
	}
}

// request sends a request on a connection of its own: a request line without its version,
// headers, an empty line and a body. It returns the code of the response, 0 if the server
// only closed the connection.
func (g *generated) request(ctx context.Context, text string) (int, error) {
	conn, err := dial(ctx, g.attacker, 1<<20)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	stopped := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stopped()
	if err := conn.SetDeadline(clock.Real().Now().Add(answerIn)); err != nil {
		return 0, err
	}
	head, body, _ := strings.Cut(text, "\n\n")
	line, headers, _ := strings.Cut(head, "\n")
	method, _, _ := strings.Cut(line, " ")
	var raw strings.Builder
	fmt.Fprintf(&raw, "%s HTTP/1.1\r\n", line)
	for header := range strings.SplitSeq(strings.TrimSpace(headers), "\n") {
		if header != "" {
			fmt.Fprintf(&raw, "%s\r\n", header)
		}
	}
	for name, value := range map[string]string{"Host": "x", "Authorization": "Bearer " + g.attacker.BearerToken, "Content-Length": fmt.Sprint(len(body)), "Connection": "close"} {
		if !strings.Contains(headers, name+": ") {
			fmt.Fprintf(&raw, "%s: %s\r\n", name, value)
		}
	}
	raw.WriteString("\r\n" + body)
	// A server that has read enough closes the connection.
	var sending sync.WaitGroup
	sending.Go(func() { _, _ = io.WriteString(conn, raw.String()) })
	defer sending.Wait()
	defer conn.Close()
	code, start, err := readAnswer(conn, method, line)
	if g.log != nil {
		g.log("%.200s: %d %s", line, code, start)
	}
	return code, err
}

// readAnswer reads the response to a request and checks it. It returns its code and the start
// of its body.
func readAnswer(conn net.Conn, method, line string) (code int, start string, err error) {
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		if isTimeout(err) {
			return 0, "", fmt.Errorf("%.200s: no response within %v", line, answerIn)
		}
		return 0, "", nil
	}
	defer resp.Body.Close()
	streams := strings.Contains(line, "watch") || strings.Contains(line, "/log?")
	if streams {
		_ = conn.SetReadDeadline(clock.Real().Now().Add(scriptTime))
	}
	text := &limitedText{}
	n, err := io.Copy(text, io.LimitReader(resp.Body, maxAnswer))
	start = text.start.String()
	switch {
	case resp.StatusCode == http.StatusInternalServerError && !isRefusedApply(start):
		err = fmt.Errorf("%.200s: an internal error: %s", line, start)
	case n == maxAnswer:
		err = fmt.Errorf("%.200s: a response of more than %d bytes", line, n)
	case isTimeout(err) && !streams:
		err = fmt.Errorf("%.200s: the response did not end within %v", line, answerIn)
	default:
		err = nil
	}
	return resp.StatusCode, start, err
}

func isTimeout(err error) bool {
	netErr, ok := errors.AsType[net.Error](err)
	return ok && netErr.Timeout()
}

// isRefusedApply reports whether upstream, too, responds with code 500: it refuses an applied
// object that does not fit its schema so.
func isRefusedApply(status string) bool {
	return strings.Contains(status, `"message":"failed to create typed patch object`) || strings.Contains(status, `"message":"failed to convert new object`)
}

// limitedText keeps the start of the text that is written to it.
type limitedText struct{ start strings.Builder }

func (l *limitedText) Write(p []byte) (int, error) {
	l.start.Write(p[:min(len(p), max(0, 500-l.start.Len()))])
	return len(p), nil
}

// runScript runs a script in a container, and ends its client after scriptTime.
func (g *generated) runScript(ctx context.Context, script string) error {
	ctx, stop := context.WithTimeout(ctx, scriptTime)
	defer stop()
	request := g.client.CoreV1().RESTClient().Post().Resource("pods").Namespace("hostile").Name("shell").SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: []string{"sh", "-c", script}, Stdout: true, Stderr: true}, scheme.ParameterCodec)
	if len(request.URL().String()) > 900_000 {
		return nil // more than the server reads of a request's head
	}
	executor, err := remotecommand.NewWebSocketExecutor(g.attacker, http.MethodGet, request.URL().String())
	if err != nil {
		return err
	}
	// A script may fail in every way.
	_ = executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: io.Discard, Stderr: io.Discard})
	return nil
}

// answer creates an object about which a webhook is called that sends text.
func (g *generated) answer(ctx context.Context, text string, number int) error {
	ctx, stop := context.WithTimeout(ctx, answerIn)
	defer stop()
	name, labels := fmt.Sprintf("h-%d", number), map[string]string{"input": fmt.Sprint(number)}
	url, policy, none, timeout := g.webhook.serve(name, text), admissionregistrationv1.Ignore, admissionregistrationv1.SideEffectClassNone, int32(1)
	if number%2 == 0 {
		policy = admissionregistrationv1.Fail
	}
	configurations := g.client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	if _, err := configurations.Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: name + ".example.com", FailurePolicy: &policy, SideEffects: &none, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: &timeout,
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: &url, CABundle: g.webhook.authority}, ObjectSelector: &metav1.LabelSelector{MatchLabels: labels},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: "hostile"}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
			}},
		}},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	// The webhook decides whether the object is created.
	_, err := g.client.CoreV1().ConfigMaps("hostile").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
	if ctx.Err() != nil {
		return fmt.Errorf("a create with the webhook did not end: %w", err)
	}
	if err != nil && len(err.Error()) > 1<<20 {
		return fmt.Errorf("the error has %d bytes", len(err.Error()))
	}
	return configurations.Delete(ctx, name, metav1.DeleteOptions{})
}

// answering is a webhook that sends the given answers.
type answering struct {
	server    *httptest.Server
	authority []byte
	texts     sync.Map // by path
}

func startAnswering(t *testing.T) *answering {
	a := &answering{}
	a.server = httptest.NewTLSServer(http.HandlerFunc(a.respond))
	t.Cleanup(a.server.Close)
	a.authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.server.Certificate().Raw})
	return a
}

// serve returns the URL of a webhook that sends text.
func (a *answering) serve(name, text string) string {
	a.texts.Store("/"+name, text)
	return a.server.URL + "/" + name
}

func (a *answering) respond(w http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil || review.Request == nil {
		return
	}
	text, ok := a.texts.Load(r.URL.Path)
	if !ok {
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	once, endless, _ := strings.Cut(strings.ReplaceAll(text.(string), "UID", string(review.Request.UID)), requestEnd)
	if _, err := io.WriteString(conn, once); err != nil || endless == "" {
		return
	}
	for {
		if _, err := io.WriteString(conn, endless); err != nil {
			return
		}
	}
}
