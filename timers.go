package minikcm

import "time"

// Timer is a time for which a part of the cluster waits, to look at something again.
type Timer struct {
	// Part is the name of a controller, or TimerOfPod for a kubelet's timer of a pod.
	Part string
	// Key is the controller's key, as NAMESPACE/NAME, or the UID of the pod.
	Key string
	Due time.Time
}

// TimerOfPod is the Part of the timers that kubelets have of their pods.
const TimerOfPod = "kubelet"

// Timers returns the times for which the named controllers and the simulated kubelets wait, in no order.
// It leaves out heartbeats, and timers that repeat whatever happens. A time at which nothing is found to
// do is a Timer, too.
func (c *Cluster) Timers(controllers []string) []Timer {
	var all []Timer
	if m := c.manager.Load(); m != nil {
		for _, name := range controllers {
			loops, _ := m.Loops(name)
			for _, l := range loops {
				for key, due := range l.Delays() {
					all = append(all, Timer{name, key.String(), due})
				}
			}
		}
	}
	for uid, due := range c.kubelets.Timers() {
		all = append(all, Timer{TimerOfPod, string(uid), due})
	}
	return all
}
