package hunt

import "minikcm.dev/minikcm/clock"

// maxActs caps the acts of users, each alone at a write.
const maxActs = 100

// possibleAt reports whether a write can be disturbed so.
func (a Action) possibleAt(at *Point) bool {
	switch a {
	case Conflict: // nothing that another client changes can refuse another verb with a conflict
		return at.Verb == "update" || at.Verb == "patch"
	case QuotaExceeded:
		return at.Verb == "create" && at.Namespace != ""
	case WebhookDenial, WebhookOutage:
		return at.Verb == "create" || at.Verb == "update" || at.Verb == "patch"
	}
	return true
}

// plan returns the disturbances of a run with these writes, watches and acts of users, in the order in which they are tried: what ends
// the operator between two writes, what a write's answer can be, events of each watched resource, acts, and views of the past.
func plan(points []Point, watched []string, acts []Disturbance) []Disturbance {
	var all []Disturbance
	each := func(actions ...Action) {
		for _, at := range points {
			for _, action := range actions {
				if action.possibleAt(&at) {
					all = append(all, Disturbance{Action: action, At: at})
				}
			}
		}
	}
	each(CrashAfter, CrashBefore)
	each(LostAnswer, Conflict, ServerError)
	events := func(action Action) {
		for _, at := range points {
			for _, resource := range watched {
				all = append(all, Disturbance{Action: action, At: at, Resource: resource})
			}
		}
	}
	events(LateEvents)
	events(MissedEvents)
	each(LateArrival, QuotaExceeded, WebhookOutage)
	events(RepeatedEvents)
	// Each act once, at a write of its own, before any act is at another one.
	for i := range min(len(points)*len(acts), maxActs) {
		act := acts[i%len(acts)]
		act.At = points[(i%len(acts)+i/len(acts))%len(points)]
		all = append(all, act)
	}
	each(WebhookDenial, TooManyRequests, SlowAnswer)
	// The nearest views first: most operators survive a view from long ago, in which nothing exists.
	for distance := range points {
		for i := range points[distance:] {
			for _, resource := range watched {
				all = append(all, Disturbance{Action: StaleRestart, At: points[i+distance], Since: points[i], Resource: resource})
			}
		}
	}
	return all
}

// pair returns two disturbances by chance.
func pair(singles []Disturbance, chance *clock.Random) []Disturbance {
	a, b := singles[chance.IntN(len(singles))], singles[chance.IntN(len(singles))]
	for b.At == a.At && len(singles) > 1 && chance.IntN(4) > 0 { // one write is seldom disturbed twice
		b = singles[chance.IntN(len(singles))]
	}
	return []Disturbance{a, b}
}
