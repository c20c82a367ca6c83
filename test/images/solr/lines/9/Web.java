package dev.rollcall.solr;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.util.EnumSet;
import javax.servlet.DispatcherType;
import org.apache.solr.servlet.CoreContainerProvider;
import org.apache.solr.servlet.SolrDispatchFilter;
import org.eclipse.jetty.rewrite.handler.RewriteHandler;
import org.eclipse.jetty.rewrite.handler.RewriteRegexRule;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.servlet.DefaultServlet;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** The web application of Solr 9: a listener that makes the container of the cores, and a filter. */
final class Web {
  private final CoreContainerProvider cores = new CoreContainerProvider();

  /** Solr only logs that it could not start; the one method that tells is not public. */
  boolean serves() throws ReflectiveOperationException {
    Method get = CoreContainerProvider.class.getDeclaredMethod("getCoreContainer");
    get.setAccessible(true);
    try {
      return get.invoke(cores) != null;
    } catch (InvocationTargetException e) {
      return false;
    }
  }

  Handler handler() throws Exception {
    ServletContextHandler solr = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    solr.setContextPath("/solr");
    solr.addEventListener(cores);
    solr.addFilter(SolrDispatchFilter.class, "/*", EnumSet.of(DispatcherType.REQUEST));
    ServletHolder rest = new ServletHolder("default", new DefaultServlet());
    rest.setInitParameter("dirAllowed", "false");
    solr.addServlet(rest, "/");
    solr.setResourceBase(Files.createTempDirectory("solr-web").toString());

    // The newer interface lives at /api, and inside at /solr/____v2.
    RewriteHandler rewrite = new RewriteHandler();
    rewrite.setRewriteRequestURI(true);
    rewrite.setRewritePathInfo(false);
    rewrite.setOriginalPathAttribute("requestedPath");
    rewrite.addRule(new RewriteRegexRule("/api(.*)", "/solr/____v2$1"));
    rewrite.setHandler(solr);
    return rewrite;
  }
}
