// Package connectpeer tests that clients and handlers of Connect work with package httpxds. The commands bench and demo below
// it use Connect, too. It is a module of its own, because little else needs Connect.
package connectpeer
