package solrcloud

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rollcall-dev/rollcall/test/e2e/testbed"
)

// OneAtATime is the careful roll that people script by hand: delete the highest
// outdated pod, wait until it is Ready and every replica is active, go on.
// Leadership is not handed over.
func (c *Cloud) OneAtATime(ctx context.Context) error {
	for {
		set, err := c.StatefulSet(ctx)
		if err != nil {
			return err
		}
		if set.Status.ObservedGeneration < set.Generation {
			if err := testbed.Pause(ctx, 200*time.Millisecond); err != nil {
				return err
			}
			continue
		}
		pods := c.Pods.All()
		victim := ""
		for i := len(pods) - 1; i >= 0 && victim == ""; i-- {
			if pods[i].Labels["controller-revision-hash"] != set.Status.UpdateRevision {
				victim = pods[i].Name
			}
		}
		if victim == "" {
			return nil
		}
		old, err := c.Bed.Kube.CoreV1().Pods(Namespace).Get(ctx, victim, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := c.Bed.Kube.CoreV1().Pods(Namespace).Delete(ctx, victim, metav1.DeleteOptions{}); err != nil {
			return err
		}
		err = c.Bed.Eventually(ctx, victim+" back", 4*time.Minute, func(context.Context) error {
			for _, pod := range c.Pods.All() {
				if pod.Name == victim && pod.UID != old.UID && testbed.Ready(pod) {
					return nil
				}
			}
			return fmt.Errorf("%s is not Ready", victim)
		})
		if err != nil {
			return err
		}
		if err := c.AllActive(ctx, 4*time.Minute); err != nil {
			return err
		}
	}
}
