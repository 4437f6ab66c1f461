package spec

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"minikcm.dev/minikcm/internal/network/reach"
)

// The answers that a Reachable may expect beside the outcomes of connections.
const (
	reachableYes = "yes"
	reachableNo  = "no"
)

// Reachable is a connection that must arrive, or must not.
type Reachable struct {
	// From is the source: a pod (NAME or pod/NAME), a pod of a workload (deploy/NAME, sts/NAME, ds/NAME, rs/NAME, job/NAME),
	// node/NAME, outside, or an IP address.
	From string `yaml:"from"`
	// To is a name as the program uses it, an IP address, svc/NAME, or one of the forms of From.
	To string `yaml:"to"`
	// Port is the number or the name of the port; default: that in To, or the first one of the Service or the pod, or 80.
	Port string `yaml:"port"`
	// Protocol is TCP, UDP or SCTP; default: the one of a port that is named, or TCP.
	Protocol string `yaml:"protocol"`
	// Namespace is the namespace of From, and of To unless ToNamespace is set; default default.
	Namespace string `yaml:"namespace"`
	// ToNamespace is the namespace of To, if it is an object.
	ToNamespace string `yaml:"toNamespace"`
	// Expect is yes (the default), no, or the outcome: connected, refused, timed out, no route, unreachable, no such
	// host, no answer of the name server, failure of the name server, reset, or unknown.
	Expect string `yaml:"expect"`
}

// Check calls problem with each field that is wrong, and fills in defaults.
func (r *Reachable) Check(problem func(field string, err error)) {
	if r.From == "" {
		problem("from", errors.New("is missing: say where the connection comes from, such as deploy/web"))
	} else {
		problem("from", reach.CheckEnd(r.From))
	}
	if r.To == "" {
		problem("to", errors.New("is missing: say where the connection goes, such as svc/db"))
	}
	_, err := reach.ParsePort(r.Port)
	problem("port", err)
	_, err = reach.ParseProtocol(r.Protocol)
	problem("protocol", err)
	switch strings.ToLower(r.Expect) {
	case "", "true":
		r.Expect = reachableYes
	case "false":
		r.Expect = reachableNo
	}
	if r.Expect != reachableYes && r.Expect != reachableNo && !reach.Outcome(r.Expect).Known() {
		problem("expect", fmt.Errorf("%q is none of yes, no, %s", r.Expect, strings.Join(reach.OutcomeNames(), ", ")))
	}
}

// Ask returns the question. namespace converts a namespace of the file.
func (r *Reachable) Ask(namespace func(string) string) *reach.Ask {
	protocol, _ := reach.ParseProtocol(r.Protocol) // it was checked
	return &reach.Ask{
		Namespace: namespace(r.Namespace), ToNamespace: namespace(cmp.Or(r.ToNamespace, r.Namespace)), From: r.From, To: r.To, Port: r.Port, Protocol: protocol,
	}
}

// Differs returns how an answer differs from what is expected, as a sentence and the steps of the way. The sentence is empty if it does
// not differ.
func (r *Reachable) Differs(report *reach.Report) (sentence string, steps []string) {
	switch {
	case r.Expect == reachableYes && report.Reached, r.Expect == reachableNo && !report.Reached && report.Outcome != reach.Unknown, string(report.Outcome) == r.Expect:
		return "", nil
	}
	lines := strings.Split(strings.TrimSpace(report.Text()), "\n")
	for _, line := range lines[1:] {
		steps = append(steps, strings.TrimSpace(line))
	}
	if r.Expect == reachableYes {
		return lines[0], steps
	}
	return fmt.Sprintf("expected %s, but %s", r.Expect, lines[0]), steps
}

// Title says what is expected.
func (r *Reachable) Title() string {
	to := r.To
	if r.Port != "" {
		to += ":" + r.Port
	}
	switch r.Expect {
	case "", reachableYes:
		return r.From + " reaches " + to
	case reachableNo:
		return r.From + " does not reach " + to
	}
	return fmt.Sprintf("%s to %s: %s", r.From, to, r.Expect)
}
