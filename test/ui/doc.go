// Package ui tests the live page of a built minikcm in a headless Chromium. Without a browser
// on the PATH, or at CHROMIUM, its tests are skipped.
package ui
