package capacity

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Print writes the report as tables: the drains, the pods that moved, the pending pods with
// reasons, the refused evictions, what waited, and the nodes whose use has changed.
func (r *Report) Print(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Question() + "\n")
	b.WriteString(r.verdict() + "\n")
	b.WriteString(r.failing())
	printReasons(&b, r.Uncertain)
	r.printTraffic(&b)
	r.printRemedies(&b)
	r.printConsolidation(&b)
	scaled := make([][]string, len(r.Scaled))
	for i, s := range r.Scaled {
		scaled[i] = []string{s.Autoscaler.String(), strconv.Itoa(int(s.Before)), strconv.Itoa(int(s.After)), s.Limited}
	}
	table(&b, "SCALED", []string{"AUTOSCALER", "BEFORE", "AFTER", "LIMITED"}, scaled)
	table(&b, "ADDED by the autoscaler", []string{"GROUP", "NODES", "FOR", "AFTER"}, added(r.Added))
	helpless := make([][]string, len(r.Helpless))
	for i, h := range r.Helpless {
		helpless[i] = []string{h.Group, h.Reason}
	}
	table(&b, "GROUPS that do not help", []string{"GROUP", "WHY"}, helpless)
	table(&b, "DRAINED", []string{"NODE", "TOOK", "NOTES"}, r.drained())
	moved := make([][]string, len(r.Moved))
	for i, m := range r.Moved {
		moved[i] = []string{m.Pod.String(), m.From + because(m.Preempted), orNone(m.To), m.As.Name}
	}
	table(&b, "MOVED", []string{"POD", "FROM", "TO", "AS"}, moved)
	table(&b, "STARTED", []string{"POD", "NODE"}, placed(r.Started))
	table(&b, "GONE", []string{"POD", "NODE"}, placed(r.Gone))
	table(&b, "PENDING", []string{"POD", "BEFORE", "WHY"}, r.waiting())
	refused := make([][]string, len(r.Refused))
	for i, p := range r.Refused {
		refused[i] = []string{p.Pod.String(), p.Node, p.Reason}
	}
	table(&b, "REFUSED", []string{"POD", "NODE", "WHY"}, refused)
	rejected := make([][]string, len(r.Rejected))
	for i, o := range r.Rejected {
		rejected[i] = []string{o.Object, o.Error}
	}
	table(&b, "REJECTED by the API server", []string{"OBJECT", "WHY"}, rejected)
	short := make([][]string, len(r.Short))
	for i, w := range r.Short {
		short[i] = []string{w.Workload.String(), strconv.Itoa(w.Has), strconv.Itoa(w.Wants), w.Reason}
	}
	table(&b, "SHORT of pods", []string{"WORKLOAD", "HAS", "WANTS", "WHY"}, short)
	table(&b, "LEAVING (evicted, but not gone)", []string{"POD", "NODE", "FINALIZERS"}, r.leaving())
	table(&b, "WAITED", []string{"POD", "NODE", "FOR", "TIME", "WHY"}, r.waited())
	table(&b, "ASSUMED to go on as before", []string{"POD", "CONTAINER", "WHAT", "LIKE"}, assumptions(r.Assumed))
	r.printNodes(&b)
	_, err := io.WriteString(w, b.String())
	return err
}

func added(all []Added) [][]string {
	rows := make([][]string, len(all))
	for i, a := range all {
		rows[i] = []string{a.Group, strings.Join(a.Nodes, " "), count(a.Pods, "pod"), duration(a.After).String()}
	}
	return rows
}

func addedNodes(all []Added) int {
	n := 0
	for _, a := range all {
		n += len(a.Nodes)
	}
	return n
}

// printConsolidation writes which nodes can go, and why the others cannot.
func (r *Report) printConsolidation(b *strings.Builder) {
	if len(r.Removable)+len(r.Kept) == 0 {
		return
	}
	text := "No node can go."
	if len(r.Removable) > 0 {
		text = fmt.Sprintf("%s can go, in this order: %s", count(len(r.Removable), "node"), strings.Join(r.Removable, ", "))
	}
	b.WriteString(text + "\n")
	kept := make([][]string, len(r.Kept))
	for i, k := range r.Kept {
		kept[i] = []string{k.Node, k.Reason}
	}
	table(b, "KEPT", []string{"NODE", "WHY"}, kept)
}

func (r *Report) verdict() string {
	before := 0
	for i := range r.Pending {
		if r.Pending[i].Before {
			before++
		}
	}
	text := "Everything fits"
	if n := addedNodes(r.Added); n > 0 {
		text += fmt.Sprintf(" with %s added", count(n, "node"))
	}
	if !r.Fits {
		text = "It does not fit: " + r.problems(before)
	}
	if r.Verdict == Uncertain {
		text = "It is uncertain. As far as the fork shows: " + strings.ToLower(text[:1]) + text[1:]
	}
	took := duration(r.Took)
	if r.Settled {
		text += fmt.Sprintf(" (settled after %v of cluster time)", took)
	} else {
		text += fmt.Sprintf(" (still changing after %v of cluster time: allow more with --for)", took)
	}
	if before > 0 {
		text += fmt.Sprintf("; %s pending before", count(before, "pod"))
	}
	return text + "."
}

// problems lists why it does not fit.
func (r *Report) problems(before int) string {
	var wrong []string
	for _, d := range r.Drains {
		if d.Failure != "" {
			wrong = append(wrong, d.Failure)
		}
	}
	if n := len(r.Pending) - before; n > 0 {
		wrong = append(wrong, count(n, "pod")+" pending")
	}
	if n := len(r.Refused); n > 0 {
		text := count(n, "eviction") + " refused"
		if r.Settled {
			text += ", which nothing will change"
		}
		wrong = append(wrong, text)
	}
	for _, s := range r.Scaled {
		if r.lacks(s) {
			wrong = append(wrong, fmt.Sprintf("%s needs more than its maximum of %s", s.Autoscaler.String(), count(int(s.After), "replica")))
		}
	}
	if n := len(r.Rejected); n > 0 {
		wrong = append(wrong, count(n, "object")+" rejected by the API server")
	}
	wrong = append(wrong, r.missed()...)
	if n := len(r.Short); n > 0 {
		wrong = append(wrong, count(n, "controller")+" short of pods")
	}
	if n := len(r.Leaving); n > 0 {
		wrong = append(wrong, count(n, "pod")+" evicted, but not gone")
	}
	return strings.Join(wrong, "; ")
}

func duration(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Second)
}

// printReasons writes why an answer is uncertain.
func printReasons(b *strings.Builder, reasons []string) {
	for i, reason := range reasons {
		if i == maxReasons && len(reasons) > maxReasons+1 {
			fmt.Fprintf(b, "  and %d more reasons\n", len(reasons)-i)
			return
		}
		fmt.Fprintf(b, "  because %s\n", reason)
	}
}

// maxReasons and maxWaits cap the lines of a list.
const (
	maxReasons = 10
	maxWaits   = 15
)

func (r *Report) drained() [][]string {
	rows := make([][]string, len(r.Drains))
	for i, d := range r.Drains {
		took := "never done"
		switch {
		case d.Done:
			took = duration(d.Took).String()
		case d.Waiting:
			took = "not begun"
		case d.Failure == "" && !r.Settled:
			took = "not done yet"
		}
		notes := append(slices.Clone(d.Warnings), trimmed(d.Failure)...)
		if d.ReplacedBy != "" {
			notes = append(notes, "replaced by "+d.ReplacedBy)
		}
		rows[i] = []string{d.Node, took, strings.Join(notes, "; ")}
	}
	return rows
}

// trimmed returns a text as a list, which is empty if the text is.
func trimmed(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func (r *Report) leaving() [][]string {
	rows := make([][]string, len(r.Leaving))
	for i, p := range r.Leaving {
		rows[i] = []string{p.Pod.String(), p.Node, orNone(strings.Join(p.Finalizers, ","))}
	}
	return rows
}

// waited returns the rows of waits. Pods with the same reason share a row; pods without a reason share
// one by node.
func (r *Report) waited() [][]string {
	type same struct{ node, what, reason string }
	found := map[same][]Wait{}
	var order []same
	for _, w := range r.Waited {
		key := same{w.Node, w.For, w.Reason}
		if w.Reason != "" {
			key.node = ""
		}
		if found[key] == nil {
			order = append(order, key)
		}
		found[key] = append(found[key], w)
	}
	var rows [][]string
	shown := 0
	for i, key := range order {
		if i == maxWaits && len(order) > maxWaits+1 {
			return append(rows, []string{fmt.Sprintf("and %d more", len(r.Waited)-shown)})
		}
		waits := found[key]
		shown += len(waits)
		rows = append(rows, waitRow(waits))
	}
	return rows
}

// waitRow returns the row of waits for the same thing, the longest first.
func waitRow(waits []Wait) []string {
	first, last := waits[0], waits[len(waits)-1]
	pods, node, took := first.Pod.String(), orNone(first.Node), duration(first.Seconds).String()
	if len(waits) > 1 {
		pods += fmt.Sprintf(" and %d more", len(waits)-1)
	}
	nodes := map[string]bool{}
	for _, w := range waits {
		nodes[w.Node] = true
	}
	if len(nodes) > 1 {
		node = count(len(nodes), "node")
	}
	if least := duration(last.Seconds).String(); least != took {
		took = least + " to " + took
	}
	return []string{pods, node, first.For, took, first.Reason}
}

func assumptions(all []Assumed) [][]string {
	var rows [][]string
	for i, a := range all {
		if i == maxWaits && len(all) > maxWaits+1 {
			rows = append(rows, []string{fmt.Sprintf("and %d more", len(all)-i)})
			break
		}
		like := "itself"
		if a.Replaces != "" {
			like = a.Replaces
		}
		rows = append(rows, []string{a.Pod.String(), orNone(a.Container), a.What, like})
	}
	return rows
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// waiting returns the rows of pending pods. Pods with the same reason share a row.
func (r *Report) waiting() [][]string {
	type same struct {
		reason string
		before bool
	}
	found := map[same][]Waiting{}
	var order []same
	for _, w := range r.Pending {
		key := same{w.Reason, w.Before}
		if found[key] == nil {
			order = append(order, key)
		}
		found[key] = append(found[key], w)
	}
	rows := make([][]string, len(order))
	for i, key := range order {
		pods := found[key]
		name := pods[0].Pod.String()
		if len(pods) > 1 {
			name += fmt.Sprintf(" and %d more", len(pods)-1)
		}
		before := "no"
		if key.before {
			before = "yes"
		}
		rows[i] = []string{name, before, key.reason}
	}
	return rows
}

// placed returns the rows of pods. Pods of the same owner on the same node share a row.
func placed(pods []Placed) [][]string {
	type same struct {
		owner     types.UID
		node      string
		preempted bool
	}
	first, count := map[same]int{}, map[same]int{}
	var rows [][]string
	for i := range pods {
		p := &pods[i]
		key := same{p.owner, p.Node, p.Preempted}
		if count[key]++; count[key] == 1 {
			first[key] = len(rows)
			rows = append(rows, []string{p.Pod.String(), orNone(p.Node) + because(p.Preempted)})
			continue
		}
		row := rows[first[key]]
		name, _, _ := strings.Cut(row[0], " ")
		row[0] = fmt.Sprintf("%s and %d more", name, count[key]-1)
	}
	return rows
}

func because(preempted bool) string {
	if preempted {
		return " (preempted)"
	}
	return ""
}

func orNone(text string) string {
	if text == "" {
		return "<none>"
	}
	return text
}

// printNodes writes the nodes whose use has changed, and the total of all nodes.
func (r *Report) printNodes(b *strings.Builder) {
	resources := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
	var rows [][]string
	var before, after Use
	were, are := 0, 0
	for i := range r.Nodes {
		n := &r.Nodes[i]
		were += before.plus(n.Before)
		are += after.plus(n.After)
		row := []string{n.Name}
		changed := n.Before == nil || n.After == nil || n.Before.Unschedulable != n.After.Unschedulable
		for _, name := range resources {
			was, is := n.Before.share(name), n.After.share(name)
			changed = changed || was != is
			row = append(row, was, is)
		}
		if changed {
			rows = append(rows, row)
		}
	}
	total := []string{fmt.Sprintf("all %d", were)}
	if are != were {
		total[0] += fmt.Sprintf(", then %d", are)
	}
	for _, name := range resources {
		total = append(total, before.share(name), after.share(name))
	}
	table(b, "NODES (requested of allocatable)", []string{"NAME", "CPU", "THEN", "MEMORY", "THEN", "PODS", "THEN"}, append(rows, total))
}

// plus adds the use of a node, if it exists, and returns the number of nodes that it has added.
func (u *Use) plus(other *Use) int {
	if other == nil {
		return 0
	}
	if u.requested == nil {
		u.requested, u.allocatable = amounts{}, amounts{}
	}
	u.requested.add(corev1.ResourceList(other.requested))
	u.allocatable.add(corev1.ResourceList(other.allocatable))
	return 1
}

// share formats the requested share of a resource, such as 1.5/4 (37%).
func (u *Use) share(name corev1.ResourceName) string {
	if u == nil {
		return "-"
	}
	requested, allocatable := u.requested[name], u.allocatable[name]
	percent := int64(0)
	if has := allocatable.MilliValue(); has > 0 {
		percent = int64(requested.AsApproximateFloat64() * 100 / allocatable.AsApproximateFloat64())
	}
	return fmt.Sprintf("%s/%s (%d%%)", short(name, requested), short(name, allocatable), percent)
}

// short formats an amount for comparison by eye: memory in Gi or Mi, CPUs in cores.
func short(name corev1.ResourceName, q resource.Quantity) string {
	const mi = 1 << 20
	switch {
	case name == corev1.ResourceCPU:
		return strconv.FormatFloat(math.Round(q.AsApproximateFloat64()*100)/100, 'f', -1, 64)
	case name != corev1.ResourceMemory:
		return strconv.FormatInt(q.Value(), 10)
	case q.Value() < 10<<30:
		return fmt.Sprintf("%dMi", q.Value()/mi)
	}
	return fmt.Sprintf("%dGi", q.Value()/(mi<<10))
}

// table writes a titled table, unless it is empty.
func table(b *strings.Builder, title string, header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	var text strings.Builder
	w := tabwriter.NewWriter(&text, 0, 0, 3, ' ', 0)
	for _, row := range slices.Concat([][]string{header}, rows) {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t")) // writes to a builder do not fail
	}
	_ = w.Flush()
	fmt.Fprintf(b, "\n%s\n", title)
	for line := range strings.Lines(text.String()) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// Print writes how many more replicas fit, on which nodes, what they displace, and why the next
// one does not.
func (f *Fit) Print(w io.Writer) error {
	var b strings.Builder
	more := strconv.Itoa(f.More)
	if f.AtLeast {
		more = "at least " + more
	}
	displaced := ""
	if n := len(f.Displaced); n > 0 {
		displaced = fmt.Sprintf(", but only by displacing %s of lower priority", count(n, "pod"))
		if f.Homeless > 0 {
			displaced += fmt.Sprintf(", of which %d get no other node", f.Homeless)
		}
	}
	if n := addedNodes(f.Added); n > 0 {
		displaced += fmt.Sprintf(", with %s added", count(n, "node"))
	}
	switch {
	case f.Wanted == 0:
		fmt.Fprintf(&b, "%s has %s, and %s more fit%s.\n", &f.Target, count(f.Replicas, "replica"), more, displaced)
	case f.Fits():
		fmt.Fprintf(&b, "%s fits with %d replicas, %d more than it has%s.\n", &f.Target, f.Wanted, f.More, displaced)
	default:
		fmt.Fprintf(&b, "%s does not fit with %d replicas: it has %d, and %d of %d more fit%s.\n", &f.Target, f.Wanted, f.Replicas, f.More, f.Wanted-f.Replicas, displaced)
	}
	if f.Verdict == Uncertain {
		b.WriteString("That is uncertain\n")
		printReasons(&b, f.Uncertain)
	}
	if f.Stops != "" {
		fmt.Fprintf(&b, "The next replica does not fit: %s\n", f.Stops)
	}
	table(&b, "ADDED by the autoscaler", []string{"GROUP", "NODES", "FOR", "AFTER"}, added(f.Added))
	table(&b, "DISPLACED by it", []string{"POD", "NODE"}, placed(f.Displaced))
	table(&b, "NODES", []string{"NAME", "MORE", "WHY NOT THE NEXT"}, f.rows())
	_, err := io.WriteString(w, b.String())
	return err
}

// rows returns the nodes that got replicas or reject the next one.
func (f *Fit) rows() [][]string {
	counts, why := map[string]int{}, map[string]string{}
	var names []string
	for _, n := range f.On {
		counts[n.Node] = n.Pods
		names = append(names, n.Node)
	}
	for _, n := range f.Nodes {
		why[n.Node] = strings.Join(n.Reasons, ", ")
		names = append(names, n.Node)
	}
	slices.Sort(names)
	var rows [][]string
	for _, name := range slices.Compact(names) {
		rows = append(rows, []string{name, fmt.Sprint(counts[name]), why[name]})
	}
	return rows
}

// Fits reports whether all wanted replicas fit or, without a wanted number, at least one more.
func (f *Fit) Fits() bool {
	if f.Wanted == 0 {
		return f.More > 0
	}
	return f.Replicas+f.More >= f.Wanted
}
