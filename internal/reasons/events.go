package reasons

import (
	"slices"
	"strings"
)

// maxEvents caps the kinds of warnings that are reported about one object.
const maxEvents = 3

// settledBy maps warnings to the normal events after which they are obsolete.
var settledBy = map[string][]string{
	"FailedScheduling":   {"Scheduled"},
	"FailedCreate":       {"SuccessfulCreate"},
	"FailedDelete":       {"SuccessfulDelete"},
	"FailedMount":        {"Started", "SuccessfulMountVolume"},
	"FailedAttachVolume": {"SuccessfulAttachVolume"},
	"Failed":             {"Started"},
	"BackOff":            {"Started"},
	"ProvisioningFailed": {"ProvisioningSucceeded"},
	"NodeNotReady":       {"NodeReady"},
}

// saidBy maps events to the reasons of conditions and containers that contain the same
// information and are newer.
var saidBy = map[string][]string{
	"FailedScheduling": {"Unschedulable", "SchedulingGated", "SchedulerError"},
	"NodeNotReady":     {"NodeStatusUnknown", "NodeStatusNeverUpdated", "KubeletNotReady"},
	"BackOff":          {"CrashLoopBackOff", "ImagePullBackOff", "ErrImagePull"},
	"Failed":           {"ImagePullBackOff", "ErrImagePull", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError", "RunContainerError"},
}

// events adds the newest warnings that are not obsolete and add information.
func (a *answer) events(events []Event, everything bool) {
	newest := newestFirst(events)
	reported := 0
	for _, e := range newest {
		if reported == maxEvents {
			return
		}
		normal := e.Type != "Warning"
		if normal && !everything || a.saysAlready(e.Reason) || isSettled(e, newest) {
			continue
		}
		reported++
		r := Reason{Source: "event", Reason: e.Reason, Message: e.Message, Count: e.Count}
		switch {
		case normal:
			a.add(remark, r)
		case strings.HasPrefix(e.Reason, "Failed") || e.Reason == "Unhealthy" || e.Reason == "NodeNotReady":
			a.add(cause, r)
		default:
			a.add(warning, r)
		}
	}
}

func isSettled(e Event, newest []Event) bool {
	return slices.ContainsFunc(newest, func(other Event) bool {
		return other.Type != "Warning" && other.Revision > e.Revision && slices.Contains(settledBy[e.Reason], other.Reason)
	})
}

// saysAlready reports whether a condition or a container contains the information of the
// event.
func (a *answer) saysAlready(reason string) bool {
	return slices.ContainsFunc(a.found, func(f ranked) bool {
		return f.Reason.Reason == reason || slices.Contains(saidBy[reason], f.Reason.Reason)
	})
}
