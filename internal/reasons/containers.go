package reasons

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pod adds the reasons in a pod's own fields.
func (a *answer) pod(o *unstructured.Unstructured) {
	f := fieldsOf(o)
	if reason := f.text("status", "reason"); reason != "" {
		a.add(cause, Reason{Source: "phase is " + f.text("status", "phase"), Reason: reason, Message: f.text("status", "message")})
	}
	if f.text("spec", "nodeName") == "" && f.condition("PodScheduled") == nil {
		a.add(cause, Reason{Source: "it has no node, and the scheduler " + f.text("spec", "schedulerName") + " has not tried to schedule it"})
	}
	for _, c := range f.list("status", "initContainerStatuses") {
		a.container("init container ", c)
	}
	for _, c := range f.list("status", "containerStatuses") {
		a.container("container ", c)
	}
}

// container adds the reason for which a container does not run.
func (a *answer) container(word string, c fields) {
	word += c.text("name")
	if waiting := c.within("state", "waiting"); waiting != nil {
		r := Reason{Source: word + " is waiting", Reason: waiting.text("reason"), Message: waiting.text("message")}
		if before := c.within("lastState", "terminated"); before != nil {
			r.Message = joinSentences(r.Message, "it ended before with "+ending(before)+restarts(c))
		}
		a.add(rankOfWaiting(r.Reason), r)
		return
	}
	if ended := c.within("state", "terminated"); ended != nil && ended.number("exitCode") != 0 {
		a.add(cause, Reason{
			Source: fmt.Sprintf("%s ended with exit code %d", word, ended.number("exitCode")), Reason: ended.text("reason"), Message: ended.text("message"),
		})
	}
}

// rankOfWaiting distinguishes a container that cannot start from one that has not started
// yet.
func rankOfWaiting(reason string) rank {
	switch reason {
	case "", "ContainerCreating", "PodInitializing":
		return consequence
	}
	return cause
}

func ending(terminated fields) string {
	text := fmt.Sprintf("exit code %d", terminated.number("exitCode"))
	if reason := terminated.text("reason"); reason != "" {
		text += " (" + reason + ")"
	}
	return text
}

func restarts(c fields) string {
	switch n := c.number("restartCount"); n {
	case 0:
		return ""
	case 1:
		return ", and was restarted once"
	default:
		return fmt.Sprintf(", and was restarted %d times", n)
	}
}

func joinSentences(first, second string) string {
	if first == "" {
		return second
	}
	return first + "; " + second
}
