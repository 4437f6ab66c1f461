// Package featuregates compares the recorded feature gates with upstream's.
package featuregates
