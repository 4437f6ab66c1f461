// Package applets holds what is pure about the programs of simulated containers: which there
// are, the expressions of expr, the durations of sleep and the formats of date. Package script
// predicts commands with it, and package box runs them with it, so that both agree.
//
//minikcm:pure
package applets
