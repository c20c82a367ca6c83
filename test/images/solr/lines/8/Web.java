package dev.rollcall.solr;

import java.nio.file.Files;
import java.util.EnumSet;
import javax.servlet.DispatcherType;
import org.apache.solr.servlet.SolrDispatchFilter;
import org.eclipse.jetty.rewrite.handler.RewriteHandler;
import org.eclipse.jetty.rewrite.handler.RewriteRegexRule;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.servlet.DefaultServlet;
import org.eclipse.jetty.servlet.FilterHolder;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/** The web application of Solr 8: a filter that makes the container of the cores. */
final class Web {
  private final SolrDispatchFilter filter = new SolrDispatchFilter();

  /** Solr only logs that it could not start. */
  boolean serves() {
    return filter.getCores() != null;
  }

  Handler handler() throws Exception {
    ServletContextHandler solr = new ServletContextHandler(ServletContextHandler.NO_SESSIONS);
    solr.setContextPath("/solr");
    solr.addFilter(new FilterHolder(filter), "/*", EnumSet.of(DispatcherType.REQUEST));
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
