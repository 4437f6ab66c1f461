package containers

import corev1 "k8s.io/api/core/v1"

// The limits of termination messages, in bytes and lines: of a file, and of the log.
const (
	maxMessage         = 4096
	maxMessageLog      = 2048
	maxMessageLogLines = 80
)

// terminationMessage returns what the process has written to its terminationMessagePath. If that
// is nothing and the process has failed, it is the end of the log, if the container's
// terminationMessagePolicy says so.
func (in *Ref) terminationMessage(run *liveRun, code int) string {
	var text []byte
	if run.files != nil && in.spec.TerminationMessagePath != "" {
		text, _ = run.files.ReadFile(in.spec.TerminationMessagePath)
	}
	if len(text) == 0 && code != 0 && in.spec.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		return run.log.Tail(maxMessageLogLines, maxMessageLog)
	}
	return string(text[:min(len(text), maxMessage)])
}
