// Package clockapi serves the clock of a running cluster at /minikcm/v1/clock: GET returns its
// State, or streams it, and POST of a verb beneath it pauses the clock, resumes it, changes its
// speed, advances it or moves it to the next timer. Only a virtual clock that runs by itself
// can be controlled; for every other clock, a POST fails with a Conflict that says what to do.
// Its Client makes these requests.
package clockapi
